"""Mechanical systems of particles, deformables, rigid bodies and robots in one scene: f64, CPU, deterministic.

>>> import dalembert as da
>>> scene = da.Scene(method="impulse", dt=0.005)
>>> door = scene.add_rigid("door", shape={"box": [0.8, 0.05, 2.0]}, density=600, position=(0.4, 0, 1))
>>> hinge = scene.add_joint("hinge", kind="hinge", between=["world", "door"], anchor=(0, 0, 1), axis=(0, 0, 1))
>>> simulation = scene.build()
>>> door.angular_velocity[2] = 1.0
>>> report = simulation.step(100)

SI units, radians, z up; quaternions are w, x, y, z. Arrays are live NumPy views of double precision. The program
`dalembert` is installed with the package.
"""

from __future__ import annotations

import os

from . import _native, mesh
from ._files import Recorder, Recording, View, view
from ._handle import Handle
from ._native import (
    BusyError,
    DivergedError,
    Energy,
    Error,
    Model,
    RecordingError,
    RobotModel,
    SceneError,
    StepError,
    StepReport,
)
from ._rollout import Rollout, rollout
from ._scene import Scene
from ._simulation import Articulation, Contacts, LiveState, Simulation, State
from ._views import Affine, Generalized, NamedArray, Points, Rigid, Robot

__version__: str = _native.version()

__all__ = [
    "Affine",
    "Articulation",
    "BusyError",
    "Contacts",
    "DivergedError",
    "Energy",
    "Error",
    "Generalized",
    "Handle",
    "LiveState",
    "Model",
    "NamedArray",
    "Points",
    "Recorder",
    "Recording",
    "RecordingError",
    "Rigid",
    "Robot",
    "RobotModel",
    "Rollout",
    "Scene",
    "SceneError",
    "Simulation",
    "State",
    "StepError",
    "StepReport",
    "View",
    "__version__",
    "examples",
    "load",
    "mesh",
    "rollout",
    "view",
]


def examples() -> dict[str, str]:
    """Names and texts of the scenes and robots that come with the package: "hello.toml", "robots/arm.xml", …"""
    return dict(_native.examples())


def load(path: str | os.PathLike[str]) -> Simulation:
    """Reads a scene file (TOML, JSON) or a robot (URDF, MJCF) and builds it."""
    return Scene.load(path).build()
