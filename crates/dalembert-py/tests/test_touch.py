"""Questions about what touches: rays, distances, pairs, forces."""

import dalembert as da
import numpy as np
import pytest


def resting_ball():
    scene = da.Scene(method="impulse", dt=0.01)
    scene.add_ground()
    scene.add_rigid(name="ball", shape={"sphere": 0.1}, mass=2.0, position=(0, 0, 0.1))
    scene.add_particles(name="bead", position=(1, 0, 0.05), mass=0.5, radius=0.05)
    sim = scene.build()
    sim.run(0.2)
    return sim


def test_rays_distances_and_pairs():
    sim = resting_ball()
    name, t, point, normal = sim.ray_cast((0, 0, 2), (0, 0, -1))
    assert name == "ball" and t == pytest.approx(1.8, abs=1e-5)
    np.testing.assert_allclose(point, (0, 0, 0.2), atol=1e-5)
    np.testing.assert_allclose(normal, (0, 0, 1), atol=1e-9)
    assert sim.ray_cast((0, 0, 2), (0, 0, -1), not_these=["ball"])[0] == "ground"
    assert sim.ray_cast((0, 0, 2), (0, 0, -1), most=1.0) is None
    assert sim.touching() == [("ball", "ground"), ("bead", "ground")]
    gap, normal = sim.distance("ball", "bead")
    assert gap == pytest.approx(np.hypot(1, 0.05) - 0.15, abs=1e-4)
    assert normal[0] < -0.99
    with pytest.raises(ValueError, match="nobody"):
        sim.distance("ball", "nobody")


def test_forces_are_quantities():
    sim = resting_ball()
    assert sim.quantity("ball.contact.z") == pytest.approx(2.0 * 9.81, rel=1e-6)
    assert sim.quantity("bead.contact.z") == pytest.approx(0.5 * 9.81, rel=1e-6)
    assert sim.quantity("contacts.count") == 2
