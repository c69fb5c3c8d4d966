"""You see: a seven-joint arm lifts a corner of a cloth; the cloth pulls back on the arm.
It teaches: robots by name, Jacobians, two simulations that push on each other.
Run it: python examples/python/robot_and_cloth.py
"""

import numpy as np

import dalembert as da

STEP = 0.002

# The arm has position servos; it starts in the home position of its file.
scene = da.Scene(title="Arm", method="impulse", dt=STEP)
scene.add_robot("arm", text=da.examples()["robots/arm.xml"])
arm_sim = scene.build()
arm = arm_sim.robot("arm")

# A cloth of 40 cm hangs from two fixed corners, a third one at the grip.
grip = arm.position("grip")
scene = da.Scene(title="Cloth", method="implicit", dt=STEP)
cloth = scene.add_cloth(
    "cloth", grid={"size": [0.4, 0.4], "cells": [8, 8]}, young=1e4, thickness=1e-3, density=300, position=grip + (0.2, 0.2, 0)
)
scene.add_fix(on=["cloth[8]", "cloth[80]"])


def fingers(t, x, v, m):
    """A spring and a damper between the grip and a corner, stepped implicitly with the cloth."""
    return 400.0 * (grip - x) + 2.0 * (speed - v)


scene.add_force(fingers, "cloth[0]")
speed = np.zeros(3)
cloth_sim = scene.build()
assert np.allclose(cloth.x[0], grip)

heaviest = 0.0
start = grip.copy()
for k in range(1000):
    # Shoulder up, elbow back, within one second.
    part = min(1.0, k / 500)
    arm.control["joint2"] = 0.5 - 0.3 * part
    arm.control["joint4"] = -1.4 + 0.3 * part
    arm_sim.step()
    jacobian = arm.jacobian("grip")[:3]
    grip, speed = arm.position("grip"), jacobian @ arm.v
    cloth_sim.step()
    # What the fingers do to the cloth, the cloth does to them.
    pull = fingers(0.0, cloth.x[0], cloth.v[0], 0.0)
    arm.tau[:] = -jacobian.T @ pull
    heaviest = max(heaviest, float(np.linalg.norm(pull)))

print(f"the grip moved by {np.linalg.norm(grip - start):.3f} m and pulled with {heaviest:.3f} N at most")
print(f"the corner is {1e3 * np.linalg.norm(cloth.x[0] - grip):.2f} mm from the grip")
print("shoulder", round(float(arm.q["joint2"]), 4), "rad, servo", round(float(arm.force["joint2"]), 2), "N·m")

assert np.linalg.norm(grip - start) > 0.1
assert np.linalg.norm(cloth.x[0] - grip) < 5e-3
assert 0.0 < heaviest < 20.0
assert np.all(np.isfinite(cloth.x))
