"""States, pickles, recordings."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dalembert as da


@pytest.fixture
def sim(scenes: Path) -> da.Simulation:
    return da.load(scenes / "double_pendulum.toml")


def test_a_state_goes_on_with_the_same_bits(sim: da.Simulation) -> None:
    sim.step(20)
    kept = sim.state.copy()
    sim.step(30)
    there = sim.pack()
    sim.state = kept  # type: ignore[assignment]
    assert sim.steps == 20
    sim.step(30)
    assert np.array_equal(sim.pack(), there)
    assert kept.steps == 20


@pytest.mark.parametrize("name", ["double_pendulum", "robot_servos", "soft_beam", "compare_pendulum"])
def test_states_can_be_pickled_copied_and_saved(scenes: Path, tmp_path: Path, name: str) -> None:
    sim = da.load(scenes / f"{name}.toml")
    sim.step(5)
    state = sim.state.copy()
    state.save(tmp_path / "state.npz")
    for other in (pickle.loads(pickle.dumps(state)), copy.deepcopy(state), da.State.load(tmp_path / "state.npz")):
        assert other == state
        assert other.time == sim.time
        fresh = da.load(scenes / f"{name}.toml")
        fresh.state = other
        fresh.step(5)
    sim.step(5)
    assert np.array_equal(fresh.pack(), sim.pack())


def test_a_simulation_can_be_pickled(sim: da.Simulation) -> None:
    sim.step(7)
    other = pickle.loads(pickle.dumps(sim))
    sim.step(7)
    other.step(7)
    assert np.array_equal(other.pack(), sim.pack())


def test_functions_cannot_be_pickled() -> None:
    scene = da.Scene()
    scene.add_particles("a")
    scene.add_force(lambda t, x, v, m: 0 * x)
    with pytest.raises(TypeError, match="Python functions"):
        pickle.dumps(scene.build())


def test_states_of_other_scenes_are_refused(sim: da.Simulation, stone: da.Simulation) -> None:
    with pytest.raises(ValueError, match="another scene"):
        sim.state = stone.state.copy()  # type: ignore[assignment]
    with pytest.raises(ValueError, match="numbers"):
        sim.unpack(np.zeros(3))
    with pytest.raises(ValueError, match="NaN"):
        sim.unpack(sim.pack() * np.nan)
    with pytest.raises(ValueError, match="shape"):
        da.State(sim.model, [1, 2, 3])
    with pytest.raises(TypeError):
        sim.unpack(["a"])  # type: ignore[arg-type]


def test_views_of_a_state_write_into_it(sim: da.Simulation) -> None:
    state = sim.state.copy()
    state.v[:] = 0.25
    sim.state = state  # type: ignore[assignment]
    assert np.all(sim.v[: sim.model.layout["nv"]] == 0.25)


def test_a_failed_step_leaves_the_state() -> None:
    scene = da.Scene(dt=1.0)
    scene.add_particles("ball", position=(1, 0, 0))
    scene.add_attractor("far", on="ball", center=(0, 0, 0), stiffness=1e300)
    sim = scene.build()
    with pytest.raises(da.StepError, match="`ball`"):
        sim.step(100)
    assert np.all(np.isfinite(sim.q))
    steps = sim.steps
    with pytest.raises(da.StepError):
        sim.step()
    assert sim.steps == steps


def test_step_sizes_must_be_some(sim: da.Simulation) -> None:
    for bad in (0.0, -1.0, float("nan")):
        with pytest.raises(da.StepError, match="step size"):
            sim.dt = bad
    with pytest.raises(ValueError, match="duration"):
        sim.run(float("nan"))
    sim.dt = 1e-4
    sim.step()
    assert sim.time == pytest.approx(1e-4)


def test_recordings_are_those_of_the_program(sim: da.Simulation, tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    with da.Recorder(sim, path) as recorder:
        for _ in range(10):
            sim.step()
            recorder.write()
    recording = da.Recording(path)
    assert len(recording) == 11
    assert np.array_equal(recording[-1].packed, sim.pack())
    assert recording.table["energy.total [J]"][-1] == sim.energy.total
    assert recording.header["method"] == sim.model.method
    told = subprocess.run([sys.executable, "-m", "dalembert", "info", str(path)], capture_output=True, text=True)
    assert told.returncode == 0 and "11" in told.stdout
    went_on = recording.simulation()
    went_on.step(5)
    sim.step(5)
    assert np.array_equal(went_on.pack(), sim.pack())
    with pytest.raises(da.RecordingError, match="finished"):
        recorder.write()
    with pytest.raises(IndexError, match="11 frames"):
        recording[11]
    with pytest.raises(da.RecordingError, match="nothing.mcap"):
        da.Recording(tmp_path / "nothing.mcap")


def test_the_program_writes_what_python_reads(scenes: Path, tmp_path: Path) -> None:
    path = tmp_path / "hello.mcap"
    command = [sys.executable, "-m", "dalembert", "run", str(scenes / "hello.toml"), "-o", str(path), "--quiet"]
    assert subprocess.run(command, capture_output=True).returncode == 0
    recording = da.Recording(path)
    sim = da.load(scenes / "hello.toml")
    sim.step(recording[-1].steps)
    assert np.array_equal(recording[-1].packed, sim.pack())


@pytest.mark.parametrize("threads", [0, -1, 1025, 10**9, 10**30])
def test_a_batch_has_a_sensible_number_of_threads(stone: da.Simulation, threads: int) -> None:
    with pytest.raises(ValueError, match=f"threads must lie between 1 and 1024, not {threads}"):
        da.rollout(stone.model, steps=1, threads=threads)


@pytest.mark.parametrize(("key", "number"), [("steps", -1), ("every", 0), ("every", -3), ("steps", 10**30)])
def test_a_batch_has_a_sensible_number_of_steps(stone: da.Simulation, key: str, number: int) -> None:
    with pytest.raises(ValueError, match=f"{key} must lie between . and .*, not {number}"):
        da.rollout(stone.model, **({"steps": 1} | {key: number}))


def test_wrong_kinds_of_numbers_are_refused_by_a_batch(stone: da.Simulation) -> None:
    for bad in (1.5, "two", float("nan")):
        with pytest.raises(TypeError):
            da.rollout(stone.model, steps=1, threads=bad)  # type: ignore[arg-type]
    most = da.rollout(stone.model, [stone.state.copy()] * 2, steps=1, threads=1024)
    assert np.array_equal(most.packed[0], most.packed[1])


def test_a_recorder_replaces_nothing_but_recordings(sim: da.Simulation, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("three weeks of work")
    (tmp_path / "link.mcap").symlink_to(notes)
    for path in (notes, tmp_path / "link.mcap"):
        with pytest.raises(da.RecordingError, match=f"{path.name}.*no recording"):
            da.Recorder(sim, path)
    assert notes.read_text() == "three weeks of work"
    for _ in range(2):
        with da.Recorder(sim, tmp_path / "run.mcap") as recorder:
            recorder.write()
    assert len(da.Recording(tmp_path / "run.mcap")) == 2


def test_a_scene_is_not_saved_over_the_file_that_it_includes(scenes: Path, tmp_path: Path) -> None:
    file = tmp_path / "hello.toml"
    file.write_text((scenes / "hello.toml").read_text())
    (tmp_path / "link.toml").symlink_to(file)
    scene = da.Scene.load(file)
    for path in (file, tmp_path / "link.toml"):
        with pytest.raises(da.Error, match="loaded from"):
            scene.save(path)
    assert file.read_text() == (scenes / "hello.toml").read_text()
    # Beside it and elsewhere the copy finds it.
    (tmp_path / "sub").mkdir()
    for path in (tmp_path / "copy.toml", tmp_path / "sub" / "copy.toml"):
        scene.save(path)
        assert np.array_equal(da.load(path).q, scene.build().q)


def test_a_mesh_that_is_not_there_is_told_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in ("nothing.obj", tmp_path / "nothing.obj"):
        with pytest.raises(FileNotFoundError, match="nothing.obj") as told:
            da.mesh.load(path)
        assert told.value.filename == str(path)
    with pytest.raises(OSError, match="folder"):
        da.mesh.load(tmp_path)
    (tmp_path / "sheet.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    scene = da.Scene(method="implicit", dt=0.01)
    scene.add_cloth(da.mesh.load("sheet.obj"))
    assert scene.build().x.shape == (3, 3)
