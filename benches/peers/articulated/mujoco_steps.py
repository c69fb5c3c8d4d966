"""MuJoCo: microseconds per step of chains and of given models, one thread, contact off; the loop runs in C.

usage: mujoco_steps.py MODEL.xml ...        prints one JSON list of {"name", "n", "seconds_per_step"}

Chains of 10, 30, 100 and 300 hinges are those of our bench: rods of 0.1 m and 0.1 kg on hinges about y and x in turn.
"""
import json
import os
import sys
import time

import mujoco


def chain(n):
    mass, length, width = 0.1, 0.1, 0.02
    side, along = mass / 12 * (width**2 + length**2), mass / 6 * width**2
    open_bodies = "".join(
        f'<body pos="0 0 {0 if i == 0 else -length}"><joint axis="{"0 1 0" if i % 2 == 0 else "1 0 0"}"/>'
        f'<inertial pos="0 0 {-length / 2}" mass="{mass}" diaginertia="{side!r} {side!r} {along!r}"/>'
        for i in range(n)
    )
    return f'<mujoco><option timestep="1e-5"/><worldbody>{open_bodies}{"</body>" * n}</worldbody></mujoco>'


def measure(model, start):
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)

    def reset():
        mujoco.mj_resetData(model, data)
        if model.nkey and start == "key":
            mujoco.mj_resetDataKeyframe(model, data, 0)
        if start == "moving":
            data.qvel[:] = 0.01

    reset()
    clock = time.perf_counter()
    mujoco.mj_step(model, data, nstep=20)
    # Short windows, as our bench has them: other programs disturb them little.
    count = max(5, int(5e-4 / max((time.perf_counter() - clock) / 20, 1e-7)))
    best = float("inf")
    for _ in range(400):
        reset()
        clock = time.perf_counter()
        mujoco.mj_step(model, data, nstep=count)
        best = min(best, (time.perf_counter() - clock) / count)
    return best


rows = []
for n in (10, 30, 100, 300):
    rows.append({"name": f"chain{n}", "n": n, "seconds_per_step": measure(mujoco.MjModel.from_xml_string(chain(n)), "moving")})
for path in sys.argv[1:]:
    model = mujoco.MjModel.from_xml_path(path)
    name = os.path.splitext(os.path.basename(path))[0]
    rows.append({"name": name, "n": int(model.nv), "seconds_per_step": measure(model, "key")})
print(json.dumps(rows))
