"""Arrays are live, keep their memory, and refuse nonsense."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

import dalembert as da


def test_views_stay_valid_over_steps(stone: da.Simulation) -> None:
    x = stone.points("stone").x
    address = x.__array_interface__["data"][0]
    q = stone.q
    before = float(x[0, 2])
    stone.step(10)
    assert x[0, 2] < before
    assert stone.points("stone").x.__array_interface__["data"][0] == address
    assert stone.q is not None and np.shares_memory(stone.q, q)
    assert x.dtype == np.float64 and x.shape == (1, 3)


def test_what_is_written_counts(stone: da.Simulation) -> None:
    stone.points("stone").x[0] = (1, 2, 3)
    stone.points("stone").v[0] = (0, 0, 7)
    assert stone.quantity("stone.y") == 2
    stone.step()
    assert stone.points("stone").v[0, 2] == pytest.approx(7 - 0.0981)


def test_what_is_assigned_counts_too(stone: da.Simulation) -> None:
    points = stone.points("stone")
    x = points.x
    points.x = [[1, 2, 3]]
    points.v += 7
    assert points.x is x and stone.quantity("stone.y") == 2 and stone.quantity("stone.vx") == 7
    with pytest.raises(ValueError, match="broadcast"):
        points.x = [1, 2]


def test_forces_from_outside_act_until_they_are_cleared(stone: da.Simulation) -> None:
    points = stone.points("stone")
    points.force[0] = (4, 0, 2 * 9.81)
    stone.step(50)
    assert points.v[0] == pytest.approx((1.0, 0, 0), abs=1e-12)
    stone.applied[:] = 0
    stone.step(50)
    assert points.v[0, 0] == pytest.approx(1.0)
    stone.push_point(0, [1, 0, 0])
    assert points.force[0, 0] == 1
    with pytest.raises(ValueError, match="no point 7"):
        stone.push_point(7, [1, 0, 0])


def test_a_view_outlives_its_simulation(stone: da.Simulation) -> None:
    x = stone.points("stone").x
    del stone
    gc.collect()
    assert x[0, 2] == 10
    x[0, 2] = 3


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none_are_refused(stone: da.Simulation, bad: float) -> None:
    stone.points("stone").x[0, 1] = bad
    with pytest.raises(ValueError, match=r"q\[1\], number 1 of `stone` was set to"):
        stone.step()
    stone.points("stone").x[0, 1] = 0
    stone.applied[2] = bad
    with pytest.raises(ValueError, match="applied"):
        stone.step()
    stone.applied[2] = 0
    stone.step()


def test_quaternions_are_normed() -> None:
    scene = da.Scene(gravity=(0, 0, 0))
    scene.add_rigid("box", shape={"box": [1, 1, 1]}, mass=1)
    sim = scene.build()
    box = sim.rigid("box")
    box.orientation[:] = (2, 0, 0, 2)
    sim.step()
    assert np.linalg.norm(box.orientation) == pytest.approx(1.0, abs=1e-12)
    box.orientation[:] = 0
    with pytest.raises(ValueError, match="quaternion of `box`"):
        sim.step()


def test_read_only_buffers_are_told(stone: da.Simulation) -> None:
    stone.buffer.flags.writeable = False
    with pytest.raises(da.BusyError, match="read-only"):
        stone.step()


def test_carried_points_follow() -> None:
    scene = da.Scene(gravity=(0, 0, 0))
    scene.add_rigid("box", shape={"box": [1, 1, 1]}, mass=1)
    scene.add_points("corner", of="box", at=[(0.5, 0.5, 0.5)])
    sim = scene.build()
    sim.rigid("box").position[:] = (1, 0, 0)
    sim.settle()
    assert sim.points("corner").x[0] == pytest.approx((1.5, 0.5, 0.5))


def test_unknown_names_are_told(stone: da.Simulation, arm: da.Simulation) -> None:
    with pytest.raises(KeyError, match="`stone`"):
        stone["rock"]
    with pytest.raises(KeyError, match="did you mean `joint3`|no quantity"):
        arm.quantity("robot.jiont3")
    with pytest.raises(KeyError, match="joint1"):
        arm.robot().control["elbow"] = 1
    with pytest.raises(KeyError, match="did you mean `grip`"):
        arm.robot().position("gripp")


def test_affine_bodies_have_rows_of_a(scenes: Path) -> None:
    scene = da.Scene(method="ipc", dt=0.01)
    scene.add_affine("cube", shape={"box": [1, 1, 1]}, density=1000, position=(0, 0, 3))
    sim = scene.build()
    cube = sim["cube"]
    assert isinstance(cube, da.Affine)
    assert cube.position == pytest.approx((0, 0, 3))
    assert cube.deformation == pytest.approx(np.eye(3))
    sim.step()
    assert cube.velocity[2] == pytest.approx(-0.0981, rel=1e-6)
    assert cube.coordinates.shape == (12,)


def test_cloth_has_triangles() -> None:
    scene = da.Scene(method="implicit", dt=0.01)
    sheet = scene.add_cloth("sheet", grid={"size": [1, 1], "cells": [4, 3]})
    sim = scene.build()
    assert sheet.triangles.shape == (24, 3)
    assert sheet.triangles.max() == 19
    assert len(sim.points("sheet")) == 20
    edges = sheet.x[sheet.triangles]
    areas = np.linalg.norm(np.cross(edges[:, 1] - edges[:, 0], edges[:, 2] - edges[:, 0]), axis=1) / 2
    assert areas.sum() == pytest.approx(1.0)


def test_an_equilibrium_balances_forces_from_outside() -> None:
    scene = da.Scene(method="implicit", implicit={"scheme": "static"}, gravity=(0, 0, 0))
    scene.add_particles("anchor")
    scene.add_fix(on="anchor")
    scene.add_particles("mass", position=(1, 0, 0), mass=2)
    scene.add_springs("spring", pairs=[["anchor", "mass"]], stiffness=100, rest_length=1)
    sim = scene.build()
    sim.points("mass").force[0] = (3, 0, 0)
    report = sim.step()
    assert sim.points("mass").x[0, 0] == pytest.approx(1.03, abs=1e-9)
    assert report.iterations > 0 and not report.unfinished


def test_a_motion_that_runs_away_raises_and_keeps_the_state() -> None:
    scene = da.Scene(method="impulse", dt=0.25, gravity=(0, 0, 0))
    scene.add_particles("a")
    scene.add_particles("b", position=(1.01, 0, 0))
    scene.add_springs("band", pairs=[["a", "b"]], stiffness=50, rest_length=1)
    model = scene.build().model
    assert any("`band`" in warning and "stability limit" in warning for warning in model.warnings)
    sim = da.Simulation(model)
    with pytest.raises(da.DivergedError, match="diverged.*smaller dt"):
        sim.step(1000)
    assert issubclass(da.DivergedError, da.StepError)
    assert np.all(np.isfinite(sim.q)) and sim.energy.total < 1e60
    steps, v = sim.steps, sim.v.copy()
    with pytest.raises(da.DivergedError):
        sim.step()
    assert sim.steps == steps and np.array_equal(sim.v, v)
    with pytest.raises(da.DivergedError, match="row 0"):
        da.rollout(model, steps=1000)
