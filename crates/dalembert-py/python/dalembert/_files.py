"""Recordings and the viewer."""

from __future__ import annotations

import json
import os
import webbrowser
from collections.abc import Iterator
from types import TracebackType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _native
from ._simulation import Simulation, State

Array: TypeAlias = npt.NDArray[np.float64]


class Recorder:
    """Records states of a simulation into a file that the program reads (`dalembert view`, `export`, `plot`, …).

    >>> with Recorder(simulation, "run.mcap") as recorder:  # doctest: +SKIP
    ...     for _ in range(100):
    ...         simulation.step()
    ...         recorder.write()
    """

    def __init__(self, simulation: Simulation, path: str | os.PathLike[str]) -> None:
        self._simulation = simulation
        self._native = _native.Recorder(simulation, os.fspath(path))
        self.write()

    def write(self) -> None:
        """Writes the state of now. The state at the start is written already."""
        self._native.write(self._simulation)

    def finish(self) -> None:
        """Ends the file and gives it its name."""
        self._native.finish()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.finish()


class Recording(_native.Recording):
    """A recording of this package or of the program: every state bit for bit, and the scene that made them."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._model: _native.Model | None = None

    @property
    def header(self) -> dict[str, Any]:
        """Scene, engine version, method, dt [s], names of scalars, …"""
        return dict(json.loads(self.header_json))

    @property
    def rebuilt(self) -> _native.Model:
        """The model that it was made with."""
        if self._model is None:
            self._model = self.model()
        return self._model

    def state(self, index: int) -> State:
        """The state of one frame; −1 is the last."""
        index = index + len(self) if index < 0 else index
        if index < 0:
            raise IndexError(f"the recording has {len(self)} frames")
        return State(self.rebuilt, self.frame(index)[2])

    def __getitem__(self, index: int) -> State:
        if not -len(self) <= index < len(self):
            raise IndexError(f"the recording has {len(self)} frames")
        return self.state(index)

    def __iter__(self) -> Iterator[State]:
        return (self.state(i) for i in range(len(self)))

    @property
    def table(self) -> dict[str, Array]:
        """Scalars over time: "time [s]", "energy.total [J]", …, each of shape (rows,)."""
        names, times, values = self.scalars()
        return {"time [s]": times} | {name: values[:, i] for i, name in enumerate(names)}

    def simulation(self, index: int = -1) -> Simulation:
        """A simulation that goes on from a frame."""
        simulation = Simulation(self.rebuilt)
        simulation.state = self.state(index)
        return simulation


class View(_native.Viewer):
    """A simulation in the browser; the loop stays the user's.

    >>> with view(simulation) as window:  # doctest: +SKIP
    ...     while window.running and simulation.time < 5.0:
    ...         simulation.step()
    ...         window.sync()
    """

    def __init__(self, simulation: Simulation, port: int = 8420) -> None:
        self._simulation = simulation

    def sync(self, force: bool = False) -> bool:
        """Shows the state of now if a page is ready for it; never waits."""
        return self.sync_with(self._simulation, force)

    def __enter__(self) -> View:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.url}" width="800" height="600"></iframe>'


def view(simulation: Simulation, *, port: int = 8420, open_browser: bool = True) -> View:
    """Shows a simulation in the browser and returns at once; call `sync` after steps.

    Args:
        simulation: The simulation.
        port: Port to try first on this machine; 0 lets the system choose.
        open_browser: Ask the system to open the address; it is printed anyway.
    """
    window = View(simulation, port)
    print(f"dalembert: {window.url}")
    window.sync(force=True)
    if open_browser and (os.name == "nt" or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ):
        webbrowser.open(window.url)
    return window
