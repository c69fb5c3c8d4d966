"""Threads: the lock is released, and two of them cannot step one simulation."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import dalembert as da


def sheet(cells: int = 24) -> da.Simulation:
    scene = da.Scene(method="implicit", dt=0.01, implicit={"newton": 3})
    scene.add_cloth("sheet", grid={"size": [1, 1], "cells": [cells, cells]})
    scene.add_fix(on=["sheet[0]", f"sheet[{cells}]"])
    return scene.build()


def test_a_second_thread_is_refused_and_nothing_breaks() -> None:
    sim, calm = sheet(), sheet()
    refused: list[BaseException] = []
    go = threading.Event()

    def other() -> None:
        go.wait()
        deadline = time.monotonic() + 20
        while not refused and time.monotonic() < deadline:
            try:
                _ = sim.energy
            except da.BusyError as error:
                refused.append(error)

    thread = threading.Thread(target=other)
    thread.start()
    go.set()
    for _ in range(40):
        try:
            sim.step(5)
        except da.BusyError:  # The other one was looking.
            continue
        if refused:
            break
    thread.join()
    assert refused, "the other thread was never refused"
    assert "another thread" in str(refused[0])
    calm.step(sim.steps)
    assert np.array_equal(calm.q, sim.q)


def test_arrays_can_be_read_during_a_step() -> None:
    sim = sheet()
    seen: list[bool] = []
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            seen.append(bool(np.isfinite(sim.q).all()) and sim.time >= 0)

    thread = threading.Thread(target=look)
    thread.start()
    sim.step(10)
    stop.set()
    thread.join()
    assert seen and all(seen)


def test_two_simulations_run_at_once() -> None:
    one, two, reference = sheet(), sheet(), sheet()
    threads = [threading.Thread(target=s.step, args=(8,)) for s in (one, two)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    reference.step(8)
    assert np.array_equal(one.q, reference.q) and np.array_equal(two.q, reference.q)


def test_the_interpreter_runs_during_a_step() -> None:
    sim = sheet(40)
    ticks = 0
    done = threading.Event()

    def run() -> None:
        sim.step(10)
        done.set()

    thread = threading.Thread(target=run)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(1e-4)
    thread.join()
    assert ticks > 10


def test_a_simulation_cannot_be_stepped_from_its_own_callback() -> None:
    scene = da.Scene(dt=0.01)
    scene.add_particles("a")
    sim: da.Simulation

    def force(t: float, x: np.ndarray, v: np.ndarray, m: np.ndarray) -> np.ndarray:
        sim.step()
        return 0 * x

    scene.add_force(force, "a")
    sim = scene.build()
    with pytest.raises(da.BusyError, match="callback"):
        sim.step()
    assert sim.steps == 0


def test_one_model_serves_many_threads(scenes: Path) -> None:
    model = da.Scene.load(scenes / "robot_pd.toml").model()
    sims = [da.Simulation(model) for _ in range(4)]
    threads = [threading.Thread(target=s.step, args=(50,)) for s in sims]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for s in sims[1:]:
        assert np.array_equal(s.state.robots, sims[0].state.robots)


def in_child(work: Callable[[], bytes]) -> bytes:
    """What a forked process makes, or the test fails: it may neither hang nor die."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, work())
            os._exit(0)
        except BaseException as error:
            os.write(2, f"{error!r}\n".encode())
            os._exit(1)
    os.close(write)
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(read)
            pytest.fail("the forked process hangs")
        time.sleep(0.01)
    with os.fdopen(read, "rb") as pipe:
        made = pipe.read()
    assert ended[1] == 0, f"the forked process ended with {ended[1]}"
    return made


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.parametrize("method", ["ipc", "implicit", "impulse"])
def test_a_forked_process_goes_on_with_the_same_bits(method: Literal["ipc", "implicit", "impulse"]) -> None:
    scene = da.Scene(method=method, dt=0.01)
    scene.add_cloth("sheet", grid={"size": [1, 1], "cells": [30, 30]}, position=(0, 0, 0.02), young=1e5, thickness=1e-3)
    if method != "implicit":
        scene.add_ground("floor")
    sim = scene.build()
    sim.step(3)

    def go_on() -> bytes:
        sim.step(3)
        rolled = da.rollout(sim.model, [sim.state.copy()] * 3, steps=1)
        # Energies and pictures use threads too.
        assert np.isfinite(sim.energy.total) and len(sim.pixels(64, 48)) == 48
        return hashlib.sha256(sim.pack().tobytes() + rolled.packed.tobytes()).digest()

    made = in_child(go_on)
    # A child of a child, too.
    assert in_child(lambda: sim.step(3) is not None and in_child(go_on)) == in_child(lambda: sim.step(3) is not None and go_on())
    assert made == go_on()
