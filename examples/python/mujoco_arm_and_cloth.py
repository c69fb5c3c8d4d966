"""You see: an arm whose dynamics MuJoCo computes presses a ball on a stick into a cloth that lies on a box.
It teaches: the bridge to MuJoCo; both engines step as one, and nothing intersects.
Run it: python examples/python/mujoco_arm_and_cloth.py   (needs pip install mujoco)
"""

import mujoco
import numpy as np

import dalembert as da
import dalembert.mujoco as bridge

ARM = """
<mujoco><option timestep="0.01" integrator="implicitfast"/>
  <worldbody>
    <body name="upper" pos="-0.4 0 0.5"><joint name="shoulder" axis="0 1 0" damping="0.3"/>
      <geom type="capsule" fromto="0 0 0 0.25 0 0" size="0.02" mass="0.8"/>
      <body name="fore" pos="0.25 0 0"><joint name="elbow" axis="0 1 0" damping="0.2"/>
        <geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.015" mass="0.4"/>
        <geom name="fist" type="sphere" pos="0.2 0 0" size="0.035" mass="0.1"/>
      </body></body></worldbody>
  <actuator><position joint="shoulder" kp="60" kv="8"/><position joint="elbow" kp="40" kv="5"/></actuator>
</mujoco>"""

model = mujoco.MjModel.from_xml_string(ARM)
data = mujoco.MjData(model)
scene = da.Scene(title="MuJoCo arm and cloth", method="ipc", dt=0.01, ipc={"gap": 2e-3, "friction": 0.3})
arm = bridge.add_robot(scene, model, data, name="arm")
scene.add_ground("floor")
scene.add_rigid("box", shape={"box": [0.2, 0.2, 0.2]}, density=500, position=(0, 0, 0.1025))
cloth = scene.add_cloth(
    "cloth", grid={"size": [0.3, 0.3], "cells": [8, 8]}, young=1e4, thickness=1e-3, density=300, position=(0, 0, 0.21)
)
sim = scene.build()

heaviest = 0.0
for k in range(90):
    part = min(1.0, k / 60)
    data.ctrl[:] = (0.62 * part, 0.1 * part)
    report = arm.step(sim)
    force = sim.articulation("arm").force
    heaviest = max(heaviest, float(np.abs(force).max()))

fist = data.geom("fist").xpos
print(f"the fist is at {np.round(fist, 4)} m, {report.contacts} contacts, smallest gap {report.smallest_gap:.1e} m")
print(f"contact turned the shoulder by up to {heaviest:.2f} N·m")
print("both engines have the links at the same places within", np.abs(sim.articulation("arm").dofs - arm.reference()).max())

assert report.contacts > 0 and report.smallest_gap > 0
assert heaviest > 0.5
# The fist of radius 35 mm stops on the cloth on the box, 20 cm high.
assert fist[2] > 0.2 + 0.035
