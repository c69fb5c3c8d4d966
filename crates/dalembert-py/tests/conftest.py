"""Things that several tests use."""

from __future__ import annotations

from pathlib import Path

import pytest

import dalembert as da

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def scenes() -> Path:
    """The folder of scenes of the project."""
    return ROOT / "scenes"


@pytest.fixture
def stone() -> da.Simulation:
    """A stone of 2 kg that falls from 10 m."""
    scene = da.Scene(dt=0.01)
    scene.add_particles("stone", position=(0, 0, 10), mass=2)
    return scene.build()


@pytest.fixture
def arm(scenes: Path) -> da.Simulation:
    """The seven-joint arm with a gripper."""
    return da.load(scenes / "robots" / "arm.xml")
