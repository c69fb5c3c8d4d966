"""Python functions inside a step: laws of motion, and what happens when they fail."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import dalembert as da

Array = np.ndarray[Any, np.dtype[np.float64]]


def spring_scene(method: str, **settings: Any) -> da.Scene:
    """A mass of 2 kg on a spring of 50 N/m, written in Python."""
    scene = da.Scene(method=method, dt=1e-3, gravity=(0, 0, 0), **settings)
    scene.add_particles("ball", mass=2, position=(0.1, 0, 0))
    scene.add_force(lambda t, x, v, m: -50 * x, "ball", name="pull", energy=lambda t, x: 25 * np.sum(x * x))
    return scene


@pytest.mark.parametrize("method", ["explicit", "implicit", "lagrange", "impulse"])
def test_a_spring_written_in_python_swings_with_its_period(method: str) -> None:
    settings = {"implicit": {"scheme": "midpoint"}} if method == "implicit" else {}
    sim = spring_scene(method, **settings).build()
    period = 2 * np.pi * np.sqrt(2 / 50)
    sim.run(period)
    assert sim.quantity("ball.x") == pytest.approx(0.1, rel=1e-3)
    assert sim.energy_terms["pull"] == pytest.approx(0.25, rel=2e-3)


def test_a_stiff_force_of_python_does_not_explode_under_implicit() -> None:
    scene = da.Scene(method="implicit", dt=0.01, gravity=(0, 0, 0))
    scene.add_particles("ball", position=(1, 0, 0))
    scene.add_force(lambda t, x, v, m: -1e9 * x, "ball")
    sim = scene.build()
    sim.step(100)
    assert abs(sim.q[0]) < 1


def test_masses_and_velocities_arrive() -> None:
    seen: list[tuple[Any, ...]] = []

    def force(t: float, x: Array, v: Array, m: Array) -> Array:
        seen.append((t, x.copy(), v.copy(), m.copy()))
        return np.zeros_like(x)

    scene = da.Scene(dt=0.1, gravity=(0, 0, 0))
    scene.add_particles("pair", positions=[(0, 0, 0), (1, 0, 0)], mass=[2, 3], velocity=(0, 1, 0))
    scene.add_particles("other")
    scene.add_force(force, "pair")
    scene.build().step(2)
    t, x, v, m = seen[-1]
    assert t == pytest.approx(0.1)
    assert x == pytest.approx(np.array([(0, 0.1, 0), (1, 0.1, 0)]))
    assert v == pytest.approx(np.array([(0, 1, 0), (0, 1, 0)]))
    assert list(m) == [2, 3]


class Trouble(Exception):
    """Told apart from all others."""


@pytest.mark.parametrize("method", ["explicit", "implicit", "lagrange", "impulse", "ipc"])
def test_an_exception_in_a_force_is_raised_and_the_state_stays(method: str) -> None:
    scene = da.Scene(method=method, dt=0.01)  # type: ignore[arg-type]
    scene.add_particles("ball", position=(0, 0, 10))
    angry = False

    def force(t: float, x: Array, v: Array, m: Array) -> Array:
        if angry:
            raise Trouble("not today")
        return 0 * x

    scene.add_force(force, "ball")
    sim = scene.build()
    sim.step(3)
    before, packed = sim.buffer.copy(), sim.pack()
    angry = True
    with pytest.raises(Trouble, match="not today"):
        sim.step()
    assert np.array_equal(sim.buffer, before) and np.array_equal(sim.pack(), packed)
    angry = False
    sim.step()
    assert sim.steps == 4


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda x: x * np.nan, "the force `wind` returned NaN"),
        (lambda x: x + np.inf, "the force `wind` returned inf"),
        (lambda x: np.zeros((5, 3)), r"shape \[1, 3\], but returned shape \[5, 3\]"),
        (lambda x: "north", "must return numbers"),
        (lambda x: None, "must return numbers"),
    ],
)
def test_nonsense_from_a_force_is_told(result: Any, message: str) -> None:
    scene = da.Scene()
    scene.add_particles("ball")
    scene.add_force(lambda t, x, v, m: result(x), "ball", name="wind")
    sim = scene.build()
    before = sim.buffer.copy()
    with pytest.raises(ValueError, match=message):
        sim.step()
    assert np.array_equal(sim.buffer, before)


@pytest.mark.parametrize("jacobian", [None, lambda t, x: (2 * x).reshape(1, 1, 3)])
@pytest.mark.parametrize("method", ["lagrange", "impulse"])
def test_a_constraint_of_python_keeps_a_bead_on_a_sphere(method: str, jacobian: Any) -> None:
    scene = da.Scene(method=method, dt=1e-3)  # type: ignore[arg-type]
    bead = scene.add_particles("bead", position=(1, 0, 0), velocity=(0, 1, 0))
    scene.add_constraint(lambda t, x: [x[0] @ x[0] - 1], [bead], name="sphere", jacobian=jacobian)
    sim = scene.build()
    start = sim.energy.total
    sim.run(0.5)
    assert np.linalg.norm(bead.x[0]) == pytest.approx(1, abs=1e-8)
    assert bead.x[0, 2] < -0.3
    if method == "lagrange":  # The other one is of first order.
        assert sim.energy.total == pytest.approx(start, abs=1e-5)


@pytest.mark.parametrize("method", ["lagrange", "impulse"])
def test_a_constraint_of_python_equals_ours(method: str) -> None:
    def pendulum(own: bool) -> da.Simulation:
        scene = da.Scene(method=method, dt=1e-3)  # type: ignore[arg-type]
        scene.add_particles("bob", position=(1, 0, 0))
        if own:
            scene.add_constraint(lambda t, x: [np.linalg.norm(x[0]) - 1], ["bob"], name="rod")
        else:
            scene.add_bead("rod", on="bob", sphere={"radius": 1})
        return scene.build()

    a, b = pendulum(True), pendulum(False)
    a.run(1.0)
    b.run(1.0)
    assert a.q == pytest.approx(b.q, abs=1e-6)


def test_bad_constraints_are_refused() -> None:
    scene = da.Scene(method="lagrange")
    scene.add_particles("a")
    scene.add_constraint(lambda t, x: [0] * 7, ["a"], rows=7)
    with pytest.raises(ValueError, match="1 to 6"):
        scene.build()
    scene = da.Scene(method="lagrange")
    scene.add_particles("a")
    scene.add_constraint(lambda t, x: [0.0], ["b"])
    with pytest.raises(da.SceneError, match="`b`"):
        scene.build()
    scene = da.Scene(method="lagrange")
    scene.add_particles("a")
    scene.add_constraint(lambda t, x: 1 / 0, ["a"])
    with pytest.raises(ZeroDivisionError):
        scene.build().step()


def test_animated_points_move_as_told() -> None:
    scene = da.Scene(method="implicit", dt=0.01)
    sheet = scene.add_cloth("sheet", grid={"size": [1, 1], "cells": [4, 4]})
    scene.animate("sheet[0]", lambda t: (0, 0, 0.1 * np.sin(t)))
    sim = scene.build()
    corner = sheet.x[0].copy()
    sim.run(0.5)
    assert sheet.x[0] == pytest.approx(corner + (0, 0, 0.1 * np.sin(0.5)), abs=1e-9)


def test_controllers_run_before_every_step_and_may_fail(arm: da.Simulation) -> None:
    calls: list[float] = []

    def control(sim: da.Simulation) -> None:
        calls.append(sim.time)
        sim.robot().control["joint1"] = 0.5
        if len(calls) == 4:
            raise Trouble

    arm.add_controller(control)
    arm.step(3)
    assert calls == pytest.approx([0, arm.dt, 2 * arm.dt])
    assert arm.robot().control[0] == 0.5
    with pytest.raises(Trouble):
        arm.step()
    assert arm.steps == 3
    arm.clear_controllers()
    arm.step()
    assert len(calls) == 4


def test_a_controller_that_holds_its_simulation_is_collected() -> None:
    scene = da.Scene()
    scene.add_particles("a")
    sim = scene.build()
    sim.add_controller(lambda s, sim=sim: None)
    watch = weakref.ref(sim)
    scene._handles.clear()
    del sim, scene
    gc.collect()
    assert watch() is None


def test_ctrl_c_ends_a_long_run(stone: da.Simulation) -> None:
    import _thread
    import threading

    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        stone.step(10**12)
    timer.join()
    assert stone.steps > 0
    stone.step()
