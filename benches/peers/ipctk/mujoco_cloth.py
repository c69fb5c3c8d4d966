#!/usr/bin/env python3
"""MuJoCo with its `ipc` flag: an n x n cloth dropped on a fixed sphere, h = 5 ms, one thread.

Prints one JSON object: CPU seconds per step, mean and worst window of 20 steps, from 0.1 s on, when it touches, to 1 s.
"""

import json
import sys
import time

import mujoco
import numpy as np

n = int(sys.argv[1]) if len(sys.argv) > 1 else 21
spacing = 1.0 / (n - 1)
XML = f"""
<mujoco>
 <option timestep="0.005" integrator="discrete"><flag ipc="enable"/></option>
 <size memory="1G"/>
 <worldbody>
  <geom type="sphere" size="0.3" pos="0 0 0"/>
  <flexcomp name="c" type="grid" dim="2" count="{n} {n} 1" spacing="{spacing} {spacing} {spacing}" pos="0 0 0.36"
            mass="0.3" radius="0.004">
   <elasticity young="1e4" poisson="0.3" thickness="1e-3" elastic2d="both"/>
   <contact selfcollide="auto"/>
  </flexcomp>
 </worldbody>
</mujoco>"""
model = mujoco.MjModel.from_xml_string(XML)
data = mujoco.MjData(model)
WINDOW = 20
windows = []
for _ in range(200 // WINDOW):
    start = time.process_time()
    for _ in range(WINDOW):
        mujoco.mj_step(model, data)
    windows.append((time.process_time() - start) / WINDOW)
x = data.flexvert_xpos
touching = windows[1:]
print(
    json.dumps(
        {
            "version": mujoco.__version__,
            "mean": sum(touching) / len(touching),
            "worst": max(touching),
            "least_distance": float(np.linalg.norm(x, axis=1).min()),
            "finite": bool(np.isfinite(x).all()),
        }
    )
)
