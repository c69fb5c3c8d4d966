"""You see: a seven-joint arm sweeps over a box with a cloth on it and pushes one half of the cloth over the other.
It teaches: robots, stiff bodies and cloth in one intersection-free step; what the cloth does to the arm.
Run it: python examples/python/arm_folds_cloth.py
"""

import numpy as np

import dalembert as da

scene = da.Scene(title="An arm pushes a cloth over a box", method="ipc", dt=0.01, ipc={"gap": 2e-3, "friction": 0.3})
scene.add_ground("floor")
scene.add_rigid("box", shape={"box": [0.3, 0.3, 0.1]}, mass=20, position=(0.5, 0, 0.052))
scene.add_fix(on=["box"])
# The hand points down, closed, over the near edge of the cloth.
pose = {"joint1": -0.15, "joint2": 0.42, "joint4": 1.9, "joint6": 0.8216}
scene.add_robot(
    "arm",
    text=da.examples()["robots/arm.xml"],
    position=(0, 0, 0.01),
    positions=pose,
    controls=pose,
)
cloth = scene.add_cloth(
    "cloth",
    grid={"size": [0.24, 0.24], "cells": [8, 8]},
    young=2e4,
    thickness=1e-3,
    density=300,
    position=(0.47, 0.02, 0.106),
)
scene.add_contact(between=["arm", "cloth"], friction=0.8)
scene.add_contact(between=["cloth", "box"], friction=0.1)
sim = scene.build()

arm = sim.robot("arm")
start = cloth.x.copy()
crossed, felt = 0, 0.0
for k in range(85):
    # Down onto the cloth, then along.
    arm.control["joint2"] = 0.42 + 0.045 * min(1.0, k / 15)
    arm.control["joint1"] = -0.15 + 0.45 * float(np.clip((k - 15) / 60, 0, 1))
    sim.step()
    crossed += bool(sim.intersections())
    felt = max(felt, float(np.abs(sim.articulation("arm").force).max()))

moved = np.linalg.norm(cloth.x - start, axis=1)
print(f"the cloth moved by {moved.mean():.3f} m, its farthest node by {moved.max():.3f} m")
print(f"contact did up to {felt:.3f} N·m to a joint; frames with intersections: {crossed}")

assert crossed == 0
assert moved.max() > 0.05
assert felt > 0.01
