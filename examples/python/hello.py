"""You see: a door swings on its hinge while a ball on a spring, written in Python, bounces beside it.
It teaches: scenes, live arrays, a force of your own, energies.
Run it: python examples/python/hello.py
"""

import numpy as np

import dalembert as da

scene = da.Scene(title="Hello", method="impulse", dt=0.002)
door = scene.add_rigid("door", shape={"box": [0.8, 0.05, 2.0]}, density=600, position=(0.4, 0, 1))
scene.add_joint("hinge", kind="hinge", between=["world", "door"], anchor=(0, 0, 1), axis=(0, 0, 1))
ball = scene.add_particles("ball", position=(0, 2, 1), mass=0.5)


def spring(t, x, v, m):
    """A spring of 50 N/m to the place (0, 2, 1)."""
    return -50.0 * (x - np.array([0.0, 2.0, 1.0]))


scene.add_force(spring, ball, name="spring", energy=lambda t, x: 25.0 * np.sum((x - [0.0, 2.0, 1.0]) ** 2))

sim = scene.build()  # Checks everything; a slip raises with its place and a suggestion.
door.angular_velocity[2] = 1.0  # Arrays are live views: writing into them counts.
door.velocity[:] = (0, 0.4, 0)  # The hinge is at x = 0, the centre 0.4 m from it.

lowest = 1.0
start = sim.energy.total
for _ in range(500):
    sim.step()
    lowest = min(lowest, ball.x[0, 2])

print(sim, sim.energy)
print("the door stands at", round(sim.quantity("hinge.angle"), 6), "rad after", sim.time, "s")

# A hinge without friction keeps its rate; a weight on a spring sinks by 2 m g / k at most.
assert abs(sim.quantity("hinge.angle") - 1.0) < 1e-3
assert abs(lowest - (1 - 2 * 0.5 * 9.81 / 50)) < 1e-3
assert abs(sim.energy.total - start) < 0.02 * abs(start)
