"""Scenes from Python say the same as scene files, and their mistakes are told in the same words."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert import _native


def test_a_free_fall_is_a_parabola(stone: da.Simulation) -> None:
    stone.run(1.0)
    # Symplectic Euler: z = z0 - g h² n (n + 1) / 2.
    assert stone.quantity("stone.z") == pytest.approx(10 - 9.81 * 1e-4 * 100 * 101 / 2, rel=1e-12)
    assert stone.time == pytest.approx(1.0)
    assert stone.steps == 100


def test_a_scene_from_python_moves_like_its_file(scenes: Path, tmp_path: Path) -> None:
    scene = da.Scene(method="impulse", dt=0.005, duration=0.5)
    scene.add_rigid("door", shape={"box": [0.8, 0.05, 2.0]}, density=600, position=(0.4, 0, 1.0))
    scene.add_joint("hinge", kind="hinge", between=["world", "door"], anchor=(0, 0, 1), axis=(0, 0, 1), damping=0.2)
    scene.add_push("hand", on="grip", force=(0, 3, 0))
    scene.add_points("grip", of="door", at=[(0.4, 0, 0)])
    sim = scene.build()
    sim.run(0.5)
    path = tmp_path / "door.toml"
    scene.save(path)
    other = da.load(path)
    other.run(0.5)
    assert np.array_equal(sim.q, other.q)
    assert sim.quantity("hinge.angle") > 0.001


def test_every_table_of_the_format_has_a_method() -> None:
    schema = json.loads(_native.schema())
    for key, about in schema["properties"].items():
        if about.get("type") == "array" and "$ref" in about.get("items", {}):
            assert hasattr(da.Scene, f"add_{key}"), key
            doc = getattr(da.Scene, f"add_{key}").__doc__
            for field in schema["$defs"][about["items"]["$ref"].split("/")[-1]]["properties"]:
                assert f"{field}" in doc, (key, field)


def test_a_misspelt_key_is_told_where_it_is_written() -> None:
    scene = da.Scene()
    with pytest.raises(TypeError, match="mas"):
        scene.add_particles("a", mas=2)  # type: ignore[call-arg]
    with pytest.raises(da.SceneError, match="did you mean `mass`"):
        da.Scene.parse("[[particles]]\nname = 'a'\nmas = 2")
    with pytest.raises(da.SceneError, match="greater than 0"):
        scene.add_particles("a", mass=-1)
    with pytest.raises(da.SceneError):
        scene.add_particles("a", mass=float("nan"))
    with pytest.raises(TypeError, match="cannot hold"):
        scene.add_particles("a", mass=object())  # type: ignore[arg-type]
    with pytest.raises(da.SceneError, match="dt"):
        da.Scene(dt=-1.0)
    with pytest.raises(da.SceneError, match="did you mean `method`"):
        scene.set(metod="ipc")


def test_errors_are_those_of_the_program(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("[[springs]]\nname = 's'\npairs = [['a', 'b']]\nstiffness = 1\n[[particles]]\nname = 'a'\n")
    with pytest.raises(da.SceneError) as error:
        da.load(path)
    told = subprocess.run([sys.executable, "-m", "dalembert", "check", str(path)], capture_output=True, text=True)
    assert told.returncode == 3
    assert str(error.value).strip() in told.stderr
    assert "bad.toml:3" in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(da.SceneError, match="nothing.toml"):
        da.load("nothing.toml")
    with pytest.raises(da.SceneError, match="nothing.urdf"):
        da.Scene().add_robot("arm", file=tmp_path / "nothing.urdf")


def test_settings_replace_those_of_a_file(scenes: Path) -> None:
    scene = da.Scene.load(scenes / "pendulum.toml", dt=0.002)
    assert scene.model().dt == 0.002
    assert da.Scene.load(scenes / "pendulum.toml").model().dt != 0.002
    robot = da.Scene.load(scenes / "robots" / "arm.urdf", method="explicit", explicit={"integrator": "rk4"})
    assert robot.build().model.method == "explicit"


def test_a_file_can_be_extended(scenes: Path) -> None:
    scene = da.Scene.load(scenes / "hello.toml")
    ball = scene.add_particles("another_ball", position=(0, 0, 5))
    sim = scene.build()
    sim.step()
    assert ball.x.shape == (1, 3)
    assert "another_ball" in sim.names


def test_handles_speak_once_built() -> None:
    scene = da.Scene()
    ball = scene.add_rigid("ball", shape={"sphere": 0.1}, mass=1)
    with pytest.raises(da.Error, match="before the scene is built"):
        _ = ball.position
    first = scene.build()
    assert np.shares_memory(ball.position, first.q)
    scene.build()
    with pytest.raises(da.Error, match="built 2 times"):
        _ = ball.position


@pytest.mark.parametrize("name", ["hello", "double_pendulum", "robot_pd", "soft_block", "ipc_stack", "hanging_cloth"])
def test_scenes_run_from_python(scenes: Path, name: str) -> None:
    sim = da.load(scenes / f"{name}.toml")
    sim.step(3)
    assert sim.steps == 3
    assert np.all(np.isfinite(sim.q))
    assert np.isfinite(sim.energy.total)


ARM = """<robot name="lifter"><link name="base"/><link name="upper"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="elbow" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" effort="5" velocity="3"/></joint></robot>"""


def test_the_first_example_of_the_book_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("arm.urdf").write_text(ARM)
    scene = da.Scene(method="ipc", dt=0.01)
    scene.add_plane()
    cloth = scene.add_cloth(da.mesh.grid(1.0, 1.0, resolution=8), position=(0, 0, 0.8), young=1e5, thickness=1e-3)
    arm = scene.add_robot("arm.urdf")
    assert (arm.name, cloth.name) == ("lifter", "cloth")
    sim = scene.build()
    with da.view(sim, port=0, open_browser=False) as view:
        while view.running and sim.time < 0.05:
            arm.control["elbow"] = 0.3
            sim.step()
            view.sync()
    assert cloth.x.shape == (81, 3)
    assert cloth.x[:, 2].min() < 0.8
    assert np.isfinite(sim.energy.total)
    assert len(sim.contacts) == 0
    assert sim.report.iterations > 0


def test_a_motor_of_a_urdf_joint_turns_it_by_its_torque(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("arm.urdf").write_text(ARM)
    scene = da.Scene(method="impulse", dt=0.001)
    arm = scene.add_robot("arm.urdf")
    sim = scene.build()
    arm.control["elbow"] = 0.3
    sim.run(0.5)
    # I ω = τ t about the joint's own axis.
    assert arm.v["elbow"] == pytest.approx(0.3 * 0.5 / 0.1, rel=1e-9)


def test_two_robots_of_one_file_need_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("arm.urdf").write_text(ARM)
    scene = da.Scene(method="impulse")
    scene.add_robot("arm.urdf")
    scene.add_robot("arm.urdf")
    with pytest.raises(da.SceneError, match="lifter2"):
        scene.build()
    with pytest.raises(da.SceneError, match="no.urdf"):
        da.Scene().add_robot("no.urdf")


def test_a_grid_has_square_cells_and_two_cloths_have_two_names() -> None:
    assert da.mesh.grid(2.0, 1.0, resolution=10).value["cells"] == [10, 5]
    assert da.mesh.grid(2.0, 1.0, resolution=(3, 4)).value["cells"] == [3, 4]
    scene = da.Scene(method="implicit")
    names = [scene.add_cloth(da.mesh.grid(1.0, 1.0, resolution=2), position=(0, 0, z)).name for z in (0, 1)]
    assert names == ["cloth", "cloth2"]
    scene.build()


def test_warnings_are_those_that_the_program_prints(tmp_path: Path) -> None:
    path = tmp_path / "scene.toml"
    path.write_text(
        "method = 'ipc'\ndt = 0.01\nduration = 0.025\n[[ground]]\n[[rigid]]\nname = 'ball'\nshape = { sphere = 0.1 }\n"
        "mass = 1\nposition = [0, 0, 1]\ncollide = 'hull'\n[[contact]]\nbetween = ['*', '*']\nrestitution = 0.5\n"
    )
    program = [sys.executable, "-m", "dalembert", "check", str(path), "--json"]
    ran = subprocess.run(program, capture_output=True, text=True, check=True)
    told = [warning["message"] for warning in json.loads(ran.stdout)["warnings"]]
    assert len(told) == 3
    ours = da.load(path).model.warnings
    assert len(ours) == 3
    assert all(message in own for message, own in zip(told, ours, strict=True)), ours


def test_a_scene_made_in_python_has_warnings() -> None:
    scene = da.Scene(method="impulse", dt=0.001, duration=1.0)
    scene.add_rigid("ball", shape={"sphere": 0.1}, mass=1, position=(0, 0, 1))
    scene.add_cloth("cloth", grid={"size": [1, 1], "cells": [2, 2]})
    (only,) = scene.build().model.warnings
    assert "`ball` and `cloth` do not touch under `impulse`" in only
