"""You see: a table of one pendulum under four methods, and how far each is from the exact period.
It teaches: one scene, several methods; states and quantities.
Run it: python examples/python/compare_methods.py
"""

import math

import numpy as np

import dalembert as da

LENGTH, SWING, STEP = 1.0, 0.5, 0.001

# The exact period: 2π √(l/g) / agm(1, cos(θ/2)).
a, b = 1.0, math.cos(SWING / 2)
while abs(a - b) > 1e-15:
    a, b = (a + b) / 2, math.sqrt(a * b)
exact = 2 * math.pi * math.sqrt(LENGTH / 9.81) / a


def pendulum(method, **settings):
    """A point on a rod: a joint where the method has joints, a stiff spring where it has not."""
    scene = da.Scene(method=method, dt=STEP, **settings)
    place = (LENGTH * math.sin(SWING), 0, -LENGTH * math.cos(SWING))
    scene.add_particles("bob", position=place)
    if method in ("lagrange", "impulse"):
        scene.add_joint("rod", kind="distance", between=["world", "bob"], anchors=[(0, 0, 0), (0, 0, 0)])
    else:
        scene.add_particles("hook")
        scene.add_fix(on="hook")
        scene.add_springs("rod", pairs=[["hook", "bob"]], stiffness=1e5)
    return scene.build()


def period(sim):
    """Twice the time between two passages through x = 0, which a line between steps finds."""
    crossings, x, before = [], sim.quantity("bob.x"), 0.0
    while len(crossings) < 3:
        before, x = x, (sim.step(), sim.quantity("bob.x"))[1]
        if before * x < 0:
            crossings.append(sim.time - STEP * x / (x - before))
    return crossings[2] - crossings[0]


rows = {
    "explicit (verlet)": pendulum("explicit", explicit={"integrator": "verlet"}),
    "lagrange (rk4)": pendulum("lagrange"),
    "impulse": pendulum("impulse"),
    "implicit (midpoint)": pendulum("implicit", implicit={"scheme": "midpoint"}),
}
print(f"exact period: {exact:.6f} s")
for name, sim in rows.items():
    found = period(sim)
    print(f"{name:>20}: {found:.6f} s, off by {found / exact - 1:+.1e}, energy drift {sim.energy_drift:+.1e}")
    assert abs(found / exact - 1) < 1e-3, name
    assert np.isfinite(sim.q).all()
