"""You see: a four-legged robot is dropped onto a soft mat and stands on it, on its servos.
It teaches: a floating base is six more freedoms; MuJoCo computes the robot, the mat and the contact are computed here.
Run it: python examples/python/mujoco_floating_base.py   (needs pip install mujoco)
"""

import mujoco

import dalembert as da
import dalembert.mujoco as bridge

model = mujoco.MjModel.from_xml_string(da.examples()["robots/quadruped.xml"])
model.opt.timestep = 0.01
data = mujoco.MjData(model)
mujoco.mj_resetDataKeyframe(model, data, 0)
data.qpos[2] += 0.1

scene = da.Scene(title="Dog on a mat", method="ipc", dt=0.01, ipc={"gap": 2e-3, "friction": 0.8})
scene.add_ground("floor")
dog = bridge.add_robot(scene, model, data, name="dog")
mat = scene.add_soft(
    "mat",
    box={"size": [0.8, 0.5, 0.06], "cells": [8, 5, 1]},
    material="stable_neo_hookean",
    young=2e5,
    poisson=0.3,
    density=200,
    position=(0, 0, 0.0325),
)
sim = scene.build()

crossed = 0
for k in range(100):
    report = dog.step(sim)
    crossed += bool(sim.intersections())

lift = sum(float(sim.contacts.between(link, "mat").forces[:, 2].sum()) for link in sim.articulation("dog").links)
weight = 9.81 * float(model.body_mass.sum())
print(f"the trunk is at {data.qpos[2]:.3f} m, the mat carries {lift:.0f} N of {weight:.0f} N")
print(f"frames with intersections: {crossed}, smallest gap {report.smallest_gap:.1e} m")

assert crossed == 0 and report.smallest_gap > 0
# Standing: the trunk is a stance above the mat, upright, and the mat carries it.
assert 0.25 < data.qpos[2] < 0.4
w, x, y, z = data.qpos[3:7]
assert 1 - 2 * (x * x + y * y) > 0.95
assert abs(lift - weight) < 0.3 * weight
