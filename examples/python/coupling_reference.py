"""You see: three arms follow one engine that believes to be 0.5 rad ahead, and of whose increments 5 % are lost on the way.
It teaches: `reference` (`ref_dof_prev`) makes two engines agree in one step; without it they drift apart, as predicted.
Run it: python examples/python/coupling_reference.py   (writes coupling_reference.svg)
"""

import subprocess
import sys

import numpy as np

import dalembert as da

OFFSET, LOST, STEPS = 0.5, 0.05, 300

scene = da.Scene(title="What a reference is good for", method="ipc", dt=0.01, ipc={"tolerance": 1e-8})
for k, name in enumerate(["truth", "with", "without"]):
    scene.add_rigid(f"{name}_link", mass=1, inertia=[0.01, 0.01, 0.01], position=(0.1, k, 0))
    scene.add_joint(f"{name}", kind="hinge", between=["world", f"{name}_link"], anchor=(0, k, 0), axis=(0, 1, 0))
    scene.add_articulation(f"{name}_arm", [f"{name}"])
sim = scene.build()


def place(k: int, angle: float) -> np.ndarray:
    """Where the other engine has link k: origin, rows of its rotation."""
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    return np.concatenate([turn @ (0.1, 0, 0) + (0, k, 0), turn.ravel()])[None]


theta, worst = OFFSET, {"with": 0.0, "without": 0.0}
arms = {name: sim.articulation(f"{name}_arm") for name in ("truth", "with", "without")}
with da.Recorder(sim, "coupling_reference.mcap") as recorder:
    for step in range(STEPS):
        delta = 0.02 * np.sin(0.03 * step) + 0.01
        arms["truth"].drive([[1.0]], [delta], place(0, theta))
        arms["with"].drive([[1.0]], [(1 - LOST) * delta], place(1, theta))
        arms["without"].drive([[1.0]], [(1 - LOST) * delta])
        sim.step()
        recorder.write()
        theta += delta
        # With a reference this step's loss is all that is missing; without, the offset and all losses so far.
        predicted = {"with": LOST * delta, "without": OFFSET + LOST * (theta - OFFSET)}
        for name, value in predicted.items():
            worst[name] = max(worst[name], abs(theta - sim.quantity(f"{name}.angle") - value))

print(f"after {STEPS} steps the other engine stands at {theta:.4f} rad")
for name in ("with", "without"):
    print(f"{name} a reference: {sim.quantity(f'{name}.angle'):.4f} rad; prediction of the difference within {worst[name]:.1e}")
assert max(worst.values()) < 1e-8
assert abs(sim.quantity("truth.angle") - theta) < 1e-8

curves = ["truth.angle", "with.angle", "without.angle"]
plot = ["plot", "coupling_reference.mcap", *curves, "-o", "coupling_reference.svg", "--size", "800x400"]
subprocess.run([sys.executable, "-m", "dalembert", *plot], check=True)
