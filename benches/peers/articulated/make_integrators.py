"""Where the robot of integrators.xml is after 250 steps under each of MuJoCo's integrators, and that of fluid.xml.

    python make_integrators.py ../../../crates/dalembert-formats/tests/data

writes integrators.json beside the robots; the tests compare with it.
"""
import json
import pathlib
import sys

import mujoco

folder = pathlib.Path(sys.argv[1])
text = (folder / "integrators.xml").read_text()
found = {"source": f"MuJoCo {mujoco.__version__}", "steps": 250, "qvel": 0.3, "ctrl": [0.8, -0.5, 1.0, 1.0]}
for name in ("Euler", "implicitfast", "implicit", "discrete"):
    robot = text.replace("<option ", f'<option integrator="{name}" ')
    if name == "implicit":
        # Dampers of tendons beside gyroscopic slopes are solved for in another way.
        robot = robot.replace('stiffness="3" damping="0.2"', 'stiffness="3"')
    model = mujoco.MjModel.from_xml_string(robot)
    data = mujoco.MjData(model)
    data.qvel[:] = found["qvel"]
    data.qvel[-3:] = [2.0, 5.0, -3.0]
    data.ctrl[:] = found["ctrl"]
    for _ in range(found["steps"]):
        mujoco.mj_step(model, data)
    found[name.lower()] = {"qpos": data.qpos.tolist(), "qvel": data.qvel.tolist()}
model = mujoco.MjModel.from_xml_path(str(folder / "fluid.xml"))
data = mujoco.MjData(model)
data.qvel[:] = found["qvel"]
for _ in range(found["steps"]):
    mujoco.mj_step(model, data)
found["fluid"] = {"qpos": data.qpos.tolist(), "qvel": data.qvel.tolist()}
(folder / "integrators.json").write_text(json.dumps(found, indent=1) + "\n")
