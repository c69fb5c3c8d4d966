"""You see: a seven-joint arm closes its gripper on a soft ball, lifts it off its pedestal and holds it.
It teaches: MuJoCo computes the arm, its servos and the loop of its fingers; the ball and the contact are computed here.
Run it: python examples/python/mujoco_gripper_and_ball.py   (needs pip install mujoco)
"""

import mujoco
import numpy as np

import dalembert as da
import dalembert.mujoco as bridge

RADIUS = 0.03

model = mujoco.MjModel.from_xml_string(da.examples()["robots/arm.xml"])
model.opt.timestep = 0.01
data = mujoco.MjData(model)
# The hand points down over the pedestal, open by 34 mm on each side.
pose = {"joint2": 0.5, "joint4": 1.9, "joint6": 0.7416, "left_finger": 0.04, "right_finger": 0.04}
for joint, angle in pose.items():
    data.joint(joint).qpos[0] = angle
data.ctrl[:7] = data.qpos[:7]

scene = da.Scene(title="Gripper and ball", method="ipc", dt=0.01, ipc={"gap": 1e-3, "friction": 0.8})
arm = bridge.add_robot(scene, model, data, name="arm")
scene.add_rigid("pedestal", shape={"box": [0.06, 0.03, 0.05]}, mass=1, position=(0.4484, 0, 0.0162))
scene.add_fix(on=["pedestal"])
ball = scene.add_soft(
    "ball",
    ball={"radius": RADIUS, "cells": 3},
    material="stable_neo_hookean",
    young=4e4,
    poisson=0.4,
    density=300,
    position=(0.4484, 0, 0.0425 + RADIUS),
)
sim = scene.build()

crossed = 0
squeezed = 2 * RADIUS
for k in range(140):
    data.actuator("grip").ctrl[0] = 0.04 - 0.022 * min(1.0, k / 40)
    # Then the shoulder goes back: the hand rises.
    data.ctrl[1] = 0.5 - 0.15 * np.clip((k - 60) / 60, 0, 1)
    arm.step(sim)
    crossed += bool(sim.intersections())
    squeezed = min(squeezed, float(np.ptp(ball.x[:, 1])))

contacts = sim.contacts
pads = [contacts.between("ball", f"arm-{side}_finger").forces.sum(axis=0) for side in ("left", "right")]
print(f"the ball was squeezed from {2e3 * RADIUS:.0f} to {1e3 * squeezed:.1f} mm by {pads[0][1]:.2f} and {pads[1][1]:.2f} N")
print(f"its middle is at {ball.x[:, 2].mean():.3f} m; frames with intersections: {crossed}")

assert crossed == 0
assert squeezed < 2 * RADIUS - 0.004
# The pads push against each other, and the ball is off its pedestal.
assert pads[0][1] * pads[1][1] < 0 and min(abs(pads[0][1]), abs(pads[1][1])) > 0.5
assert ball.x[:, 2].min() > 0.0425 + 0.02
assert len(contacts.between("ball", "pedestal")) == 0
