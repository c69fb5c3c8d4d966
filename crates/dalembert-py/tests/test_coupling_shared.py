"""Robots of others, computed by MuJoCo: coupled to a scene where nothing touches they move as by MuJoCo alone.

Needs the shared data beside the project (DALEMBERT_SHARED, or ../shared).
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import dalembert as da

from conftest import ROOT


def models() -> Path:
    """The folder of the robots, or the test is skipped."""
    folder = ROOT / os.environ.get("DALEMBERT_SHARED", "../shared") / "models"
    if not folder.is_dir():
        pytest.skip("no shared data")
    return folder


@pytest.mark.parametrize(
    ("file", "swing", "least"),
    [
        ("franka_emika_panda/panda.xml", [0.8, 0.5, -0.6, -0.3, 0.5, 0.4, 0.3, -150.0], 0.2),
        ("unitree_go1/go1.xml", [0.3] * 12, 50.0),
        ("mujoco_humanoid/humanoid.xml", [0.2] * 21, 50.0),
    ],
    ids=["panda", "floating base", "several joints of one body"],
)
def test_free_motion_is_that_of_mujoco_alone(file: str, swing: list[float], least: float) -> None:
    mujoco = pytest.importorskip("mujoco")
    bridge = pytest.importorskip("dalembert.mujoco")
    path = models() / file
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.timestep = 0.01
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    alone, data = mujoco.MjData(model), mujoco.MjData(model)
    for d in (alone, data):
        mujoco.mj_resetDataKeyframe(model, d, 0)
    scene = da.Scene(method="ipc", dt=0.01, ipc={"tolerance": 1e-8})
    robot = bridge.add_robot(scene, model, data, name="robot")
    sim = scene.build()
    worst, way = 0.0, 0.0
    for k in range(500):
        for d in (alone, data):
            d.ctrl[:] = model.key_ctrl[0] + np.sin(0.007 * k * (1 + np.arange(model.nu) % 3)) * swing
        mujoco.mj_step(model, alone)
        robot.step(sim)
        worst = max(worst, float(np.abs(data.qpos - alone.qpos).max()))
        way = max(way, float(np.abs(alone.qpos - model.key_qpos[0]).max()))
    print(f"{file}, 5 s: coordinates within {worst:.1e}, after a way of {way:.2f}")
    assert worst < 1e-6 and way > least
    assert sim.articulation("robot").dofs == pytest.approx(robot.reference(), abs=1e-6)
