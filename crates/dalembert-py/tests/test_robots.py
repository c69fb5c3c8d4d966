"""Robots: dynamics by independent routes, named arrays, batches."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

import dalembert as da


def test_the_jacobian_is_the_slope_of_the_position(arm: da.Simulation) -> None:
    robot = arm.robot().model
    q = robot.neutral + 0.3
    jacobian = robot.jacobian("grip", q)
    assert jacobian.shape == (6, robot.nv)
    for k in range(robot.nv):
        e = np.zeros(robot.nq)
        e[k] = 1e-6
        slope = (robot.position("grip", q + e) - robot.position("grip", q - e)) / 2e-6
        assert jacobian[:3, k] == pytest.approx(slope, abs=1e-8)


def test_the_mass_matrix_is_the_slope_of_inverse_dynamics(arm: da.Simulation) -> None:
    robot = arm.robot().model
    rng = np.random.default_rng(1)
    q, v = robot.neutral + 0.2, rng.normal(size=robot.nv)
    mass = robot.mass_matrix(q)
    bias = robot.inverse_dynamics(q, v, np.zeros(robot.nv))
    for k in range(robot.nv):
        column = robot.inverse_dynamics(q, v, np.eye(robot.nv)[k]) - bias
        assert mass[:, k] == pytest.approx(column, abs=1e-9)
    assert np.all(np.linalg.eigvalsh(mass) > 0)
    turn = robot.rotation("grip", q)
    assert turn @ turn.T == pytest.approx(np.eye(3))


def test_forces_that_hold_hold(arm: da.Simulation) -> None:
    robot = arm.robot()
    robot.control[:] = robot.q[:8]
    start = robot.q.copy()
    # The servos are on target; what is left to carry is the weight.
    robot.tau[:] = robot.inverse_dynamics()
    arm.step(50)
    assert robot.q == pytest.approx(start, abs=1e-6)


def test_names_lead_to_numbers(arm: da.Simulation) -> None:
    robot = arm.robot("robot")
    robot.control["joint2"] = 0.9
    assert robot.ctrl[robot.model.actuators.index("joint2")] == 0.9
    arm.run(2.0)
    assert robot.q["joint2"] == pytest.approx(0.9, abs=0.05)
    assert arm.quantity("robot.joint2") == robot.q["joint2"]
    assert robot.force["joint2"] != 0
    limits = {j[0]: j[6] for j in robot.model.joints}
    assert limits["joint2"] == (-2.0, 2.0)


def test_free_joints_are_slices(scenes: Path) -> None:
    sim = da.load(scenes / "robots" / "quadruped.xml")
    robot = sim.robot()
    free = [j for j in robot.model.joints if j[1] == "free"]
    assert len(free) == 1 and free[0][3] - free[0][2] == 7
    z = robot.q[free[0][2] + 2]
    sim.step(10)
    assert robot.q[free[0][2] + 2] < z


def test_wrong_sizes_are_told(arm: da.Simulation) -> None:
    robot = arm.robot().model
    with pytest.raises(ValueError, match=f"has {robot.nq} numbers, not 2"):
        robot.mass_matrix([1, 2])
    with pytest.raises(ValueError, match=r"q\[0\] is NaN"):
        robot.mass_matrix(robot.neutral * np.nan)
    with pytest.raises(ValueError, match="could not convert"):
        robot.mass_matrix("home")
    with pytest.raises(ValueError, match="says which|say which"):
        da.Scene.parse("[[particles]]\nname = 'a'").model().robot()


def test_a_rollout_equals_steps_one_by_one(arm: da.Simulation) -> None:
    model, rng = arm.model, np.random.default_rng(2)
    nu = arm.robot().model.nu
    controls = rng.uniform(-0.5, 0.5, size=(6, 20, nu))
    states = []
    for k in range(6):
        arm.robot().v[:] = 0.1 * k
        states.append(arm.state.copy())
        arm.reset()
    result = da.rollout(model, states, controls, every=5)
    assert result.packed.shape == (6, 4, model.layout["packed"])
    assert result.robot().q.shape == (6, 4, arm.robot().model.nq)
    for k in range(6):
        arm.state = states[k]  # type: ignore[assignment]
        for t in range(20):
            arm.robot().control[:] = controls[k, t]
            arm.step()
        assert np.array_equal(arm.pack(), result.packed[k, -1])
        assert result.state(k) == arm.state.copy()
    one = da.rollout(model, states, controls, every=5, threads=1)
    assert np.array_equal(one.packed, result.packed)


def test_rollouts_take_one_state_for_all(arm: da.Simulation) -> None:
    controls = np.zeros((3, 4, arm.robot().model.nu))
    assert da.rollout(arm.model, arm.state.copy(), controls).packed.shape[0] == 3
    assert da.rollout(arm.model, controls=controls[0]).packed.shape[:2] == (1, 4)
    assert da.rollout(arm.model, steps=3).time[0] == pytest.approx(arm.dt * np.arange(1, 4))


def test_bad_batches_are_told(arm: da.Simulation) -> None:
    model = arm.model
    with pytest.raises(ValueError, match="say how many"):
        da.rollout(model)
    with pytest.raises(ValueError, match="shape"):
        da.rollout(model, controls=np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match="controls hold NaN"):
        da.rollout(model, controls=np.full((1, 2, 8), np.nan))
    with pytest.raises(ValueError, match="numbers"):
        da.rollout(model, np.zeros((2, 3)), steps=1)
    with pytest.raises(ValueError, match="do not fit"):
        da.rollout(model, steps=10**9)
    with pytest.raises(ValueError, match="every"):
        da.rollout(model, steps=1, every=0)


def test_a_failing_row_is_told_and_the_others_go_on() -> None:
    scene = da.Scene(dt=1.0, gravity=(0, 0, 0))
    scene.add_particles("ball", position=(1, 0, 0))
    scene.add_attractor("far", on="ball", center=(0, 0, 0), stiffness=1e300)
    model = scene.model()
    calm = da.State(model)
    calm.q[:] = 0
    with pytest.raises(da.StepError, match="row 1"):
        da.rollout(model, [calm, da.State(model)], steps=5)
    result = da.rollout(model, [calm, da.State(model)], steps=5, on_error="keep")
    assert [row for row, _, _ in result.errors] == [1]
    assert result.time[0, -1] == 5
    assert np.all(np.isfinite(result.packed))


def test_functions_take_part_in_rollouts() -> None:
    scene = da.Scene(dt=0.01, gravity=(0, 0, 0))
    scene.add_particles("ball", mass=2)
    scene.add_force(lambda t, x, v, m: np.tile((6.0, 0, 0), (len(x), 1)), "ball")
    result = da.rollout(scene.model(), steps=100)
    assert result.v[0, -1, 0] == pytest.approx(3.0)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
@pytest.mark.skipif("DALEMBERT_TIMED" not in os.environ, reason="timed: DALEMBERT_TIMED=1 on a quiet machine")
def test_two_threads_are_nearly_twice_as_fast(arm: da.Simulation) -> None:
    controls = np.zeros((256, 100, arm.robot().model.nu))

    def run(threads: int) -> tuple[float, float, float]:
        """Seconds by the clock, of all threads, and of this one, which waits while the others work."""
        clocks = time.perf_counter, time.process_time, time.thread_time
        start = [clock() for clock in clocks]
        da.rollout(arm.model, controls=controls, every=100, threads=threads)
        wall, work, serial = (clock() - t for clock, t in zip(clocks, start, strict=True))
        return wall, work, serial

    run(2)
    rows = [(run(1), run(2)) for _ in range(5)]
    one, two = (min(row[k][0] for row in rows) for k in range(2))
    # What the work and its serial part would allow is printed beside what the clock says.
    work_one = min(row[0][1] for row in rows)
    work_two, serial = min(row[1][1] for row in rows), min(row[1][2] for row in rows)
    ratio = work_one / (serial + 0.5 * (work_two - serial))
    print(f"256 arms, 2 threads: {one / two:.2f}x by the clock, {ratio:.2f}x by work; serial {100 * serial / work_two:.2f} %")
    assert one / two >= 1.9


def test_rollouts_keep_contacts(scenes: Path) -> None:
    scene = da.Scene(method="impulse", dt=0.005)
    scene.add_ground()
    for k in range(3):
        scene.add_rigid(f"box{k}", shape={"box": [0.2, 0.2, 0.2]}, density=500, position=(0.01 * k, 0, 0.1 + 0.2 * k))
    model = scene.model()
    half = da.rollout(model, steps=20, every=10)
    assert half.lengths.min() > 0
    rest = da.rollout(model, half.last(), steps=20, every=10)
    whole = da.rollout(model, steps=40, every=10)
    # With the contacts of the state, going on gives the bits of one run.
    assert rest.state(0) == whole.state(0)
    assert np.array_equal(rest.packed[0], whole.packed[0, 2:])
    assert half.state(0, 0) == da.rollout(model, steps=10, every=10).state(0)
    sim = scene.build()
    sim.step(40)
    assert sim.state.copy() == whole.state(0)


def test_contacts_can_be_read() -> None:
    for method in ("impulse", "ipc"):
        scene = da.Scene(method=method, dt=0.005)  # type: ignore[arg-type]
        scene.add_ground("floor")
        scene.add_rigid("box", shape={"box": [0.2, 0.2, 0.2]}, mass=2, position=(0, 0, 0.1005))
        sim = scene.build()
        sim.step(300)
        contacts = sim.contacts
        assert len(contacts) >= 3 and len(contacts.names) == len(contacts)
        assert {name for pair in contacts.names for name in pair} == {"box", "floor"}
        box = contacts.between("box", "floor")
        assert box.forces.sum(axis=0) == pytest.approx((0, 0, 2 * 9.81), abs=0.05)
        assert np.allclose(box.normals, (0, 0, 1)) and np.all(np.abs(box.points[:, 2]) < 5e-3)
        assert np.all(np.abs(box.gaps) < 5e-3)
        assert len(contacts.between("box", "nothing")) == 0
        if method == "ipc":
            assert sim.intersections() == []
            sim["box"].position[2] = 0.05  # type: ignore[union-attr]
            assert sim.intersections() == [("box", "floor")]
        else:
            with pytest.raises(ValueError, match="only the method `ipc`"):
                sim.intersections()
