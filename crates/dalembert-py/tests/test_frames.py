"""Frames: angular velocities of rigid and affine bodies are in world axes through every door."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import dalembert as da

METHODS = ["explicit", "lagrange", "impulse", "implicit", "ipc"]
Method = Literal["explicit", "lagrange", "impulse", "implicit", "ipc"]

# A turn by 1.1 rad about (1, 2, −2)/3, and a spin that is not along its axis.
TURN = np.array([np.cos(0.55), *(np.sin(0.55) * np.array([1, 2, -2]) / 3)])
SPIN = np.array([0.3, -1.1, 2.0])


def matrix(q: Any) -> Any:
    """The rotation of a unit quaternion w, x, y, z."""
    w, (x, y, z) = q[0], q[1:]
    cross = skew([x, y, z])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def skew(w: Any) -> Any:
    """The matrix of w × ·."""
    x, y, z = w
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def turned(w: Any, t: float) -> Any:
    """The rotation by w t, by Rodrigues."""
    angle = float(np.linalg.norm(w)) * t
    n = skew(np.asarray(w) / np.linalg.norm(w))
    return np.eye(3) + np.sin(angle) * n + (1 - np.cos(angle)) * n @ n


def cube(method: Method, kind: Literal["rigid", "affine"] = "rigid", **motion: Any) -> da.Simulation:
    """A cube of 2 kg and 0.6 m: I = m a² / 6 = 0.12 kg·m² about every axis, so it spins evenly without weight."""
    scene = da.Scene(method=method, dt=1e-3, gravity=(0, 0, 0))
    add = scene.add_rigid if kind == "rigid" else scene.add_affine
    add("cube", shape={"box": [0.6, 0.6, 0.6]}, mass=2, orientation=TURN, **motion)
    if kind == "rigid":
        scene.add_points("corner", of="cube", at=[(0.3, 0.3, 0.3)])
    return scene.build()


def spin_of(sim: da.Simulation) -> Any:
    return np.array([sim.quantity(f"cube.{part}") for part in ("wx", "wy", "wz")])


def attitude(sim: da.Simulation) -> Any:
    view = sim["cube"]
    return view.deformation if isinstance(view, da.Affine) else matrix(view.orientation)


def holds(sim: da.Simulation, tolerance: float) -> None:
    """Everything that can be asked says that it spins by SPIN in world axes."""
    assert spin_of(sim) == pytest.approx(SPIN, abs=tolerance)
    assert sim.momentum[1] == pytest.approx(0.12 * SPIN, abs=tolerance)
    view = sim["cube"]
    if isinstance(view, da.Affine):
        assert view.deformation_rate == pytest.approx(skew(SPIN) @ view.deformation, abs=tolerance)
    else:
        assert isinstance(view, da.Rigid)
        assert view.angular_velocity == pytest.approx(SPIN, abs=tolerance)
        assert sim.v[3:6] == pytest.approx(SPIN, abs=tolerance)
        assert sim.state.copy().v[3:6] == pytest.approx(SPIN, abs=tolerance)
    if "corner" in sim.names:
        arm = sim.points("corner").x[0]
        assert sim.points("corner").v[0] == pytest.approx(np.cross(SPIN, arm), abs=tolerance)


@pytest.mark.parametrize("method", METHODS)
def test_a_scene_gives_the_spin_in_world_axes(method: Method, tmp_path: Path) -> None:
    sim = cube(method, angular_velocity=SPIN)
    holds(sim, 1e-9)
    before = attitude(sim).copy()
    assert before == pytest.approx(matrix(TURN), abs=1e-12)
    with da.Recorder(sim, tmp_path / "spin.mcap") as recorder:
        sim.step(100)
        recorder.write()
    # Implicit Euler takes (h ω)² of the spin in every step: ω − ω(t) = h ω³ t, and places follow.
    close = 4 * 1e-3 * float(np.linalg.norm(SPIN)) ** 3 * 0.1 if method in ("ipc", "implicit") else 1e-6
    holds(sim, close)
    assert attitude(sim) == pytest.approx(turned(SPIN, 0.1) @ before, abs=close)
    holds(da.Recording(tmp_path / "spin.mcap").simulation(), close)


@pytest.mark.parametrize("method", ["ipc"])
def test_an_affine_body_too(method: Method) -> None:
    sim = cube(method, "affine", angular_velocity=SPIN, stiffness=1e8)
    holds(sim, 1e-9)
    before = attitude(sim).copy()
    sim.step(100)
    assert attitude(sim) == pytest.approx(turned(SPIN, 0.1) @ before, abs=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_python_sets_the_spin_in_world_axes(method: Method) -> None:
    sim = cube(method)
    view = sim["cube"]
    if isinstance(view, da.Affine):
        view.deformation_rate[:] = skew(SPIN) @ view.deformation
    else:
        assert isinstance(view, da.Rigid)
        view.angular_velocity[:] = SPIN
    sim.settle()
    holds(sim, 1e-9)
    before = attitude(sim).copy()
    sim.step(100)
    assert attitude(sim) == pytest.approx(turned(SPIN, 0.1) @ before, abs=1e-3)


@pytest.mark.parametrize("method", ["impulse", "ipc"])
def test_motion_turns_about_an_axis_of_the_world(method: Method) -> None:
    scene = da.Scene(method=method, dt=1e-3, gravity=(0, 0, 0))
    scene.add_rigid("cube", shape={"box": [0.6, 0.6, 0.6]}, mass=2, orientation=TURN)
    scene.add_motion(on="cube", angular_velocity=SPIN)
    sim = scene.build()
    sim.step(100)
    assert attitude(sim) == pytest.approx(turned(SPIN, 0.1) @ matrix(TURN), abs=1e-9)
    assert spin_of(sim) == pytest.approx(SPIN, abs=1e-6)


def test_the_free_joint_of_a_robot_turns_in_body_axes_as_in_mujoco() -> None:
    text = """
    <mujoco><option timestep="1e-5" gravity="0 0 0"/><worldbody><body name="trunk"><freejoint name="root"/>
      <geom type="box" size="0.3 0.3 0.3" mass="2"/><site name="tip" pos="0.3 0 0"/>
      <body name="tail" pos="-0.4 0 0"><joint name="hip" axis="0 1 0"/><geom type="sphere" size="0.05" mass="0.01"/></body>
    </body></worldbody></mujoco>"""
    scene = da.Scene(method="impulse", dt=1e-5, gravity=(0, 0, 0))
    scene.add_robot("robot", text=text)
    sim = scene.build()
    robot = sim.robot("robot")
    robot.q["root"][3:] = TURN
    robot.v["root"] = [0.5, -0.2, 0.1, *SPIN]
    start = matrix(TURN)
    # Linear in world axes, angular in body axes.
    velocity = robot.jacobian("tip") @ np.asarray(robot.v)
    assert velocity[3:] == pytest.approx(start @ SPIN, abs=1e-12)
    assert velocity[:3] == pytest.approx(np.array([0.5, -0.2, 0.1]) + np.cross(start @ SPIN, start @ [0.3, 0, 0]), abs=1e-12)
    sim.step(10)
    assert robot.rotation("trunk") == pytest.approx(start @ turned(SPIN, 1e-4), abs=1e-7)
