"""Scenes: what a user writes; `build` checks it and returns a simulation."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from . import _native, _text
from ._handle import Handle
from ._simulation import Simulation
from ._tables import SETTINGS, Tables
from .mesh import Mesh

Force = Callable[..., ArrayLike]
"""f(t, x, v, m): time [s], positions [m] and velocities [m/s] of shape (n, 3), masses [kg] → forces [N], (n, 3)."""

Points = str | Handle | Sequence[str | Handle]
ROBOTS = (".urdf", ".xml")


def _names(points: Points) -> list[str]:
    items = [points] if isinstance(points, (str, Handle)) else list(points)
    return [item.name if isinstance(item, Handle) else item for item in items]


class Scene(Tables):
    """What a user writes: settings, tables and functions. SI units, radians, z up.

    Every table of a scene file has a method of its name (`add_rigid`, `add_cloth`, `add_robot`, …) with the same keys,
    units and defaults; a slip raises `SceneError` at that call. Functions of Python are added by `add_force`,
    `add_constraint`, `animate` and `add_controller`.

    >>> scene = Scene(dt=0.01)
    >>> stone = scene.add_particles("stone", position=(0, 0, 10))
    >>> simulation = scene.build()
    >>> simulation.run(1.0)
    >>> bool(stone.x[0, 2] < 6)
    True
    """

    def _set(self, settings: dict[str, Any]) -> None:
        self._directory = os.getcwd()
        self._path: str | None = None
        self._base: str = ""
        self._settings: dict[str, Any] = {}
        self._items: list[str] = []
        self._handles: list[Handle] = []
        self._forces: list[Any] = []
        self._constraints: list[Any] = []
        self._motions: list[Any] = []
        self._articulations: list[Any] = []
        self._controllers: list[Callable[[Simulation], object]] = []
        self.set(**settings)

    def set(self, **settings: Any) -> None:
        """Changes settings such as `method`, `dt`, `gravity` or `ipc` (a dict); None leaves a setting as it is."""
        unknown = [key for key in settings if key not in SETTINGS]
        if unknown:
            _native.check_text("Scene(…)", "\n".join(_text.lines({unknown[0]: settings[unknown[0]]})), self._directory)
        new = self._settings | {key: item for key, item in settings.items() if item is not None}
        _native.check_text("Scene(…)", "\n".join(_text.lines(new)), self._directory)
        self._settings = new

    @classmethod
    def load(cls, path: str | os.PathLike[str], **settings: Any) -> Scene:
        """Reads a scene file (TOML or JSON) or a robot (URDF, MJCF); settings replace those of the file."""
        scene = cls(**settings)
        scene._path = os.fspath(path)
        scene._directory = os.path.dirname(os.path.abspath(path))
        scene.model()
        return scene

    @classmethod
    def parse(cls, text: str, *, directory: str | os.PathLike[str] = ".", **settings: Any) -> Scene:
        """Reads a scene from a text in TOML; the files that it names are looked for in `directory`."""
        scene = cls(**settings)
        scene._directory = os.path.abspath(directory)
        _native.check_text("scene.toml", text, scene._directory)
        scene._base = text.rstrip() + "\n"
        return scene

    def _add(self, table: str, keys: dict[str, Any]) -> Handle:
        keys = {key: item for key, item in keys.items() if item is not None}
        name = keys.get("name")
        if isinstance(name, Mesh):
            keys = keys | {"name": self._free_name(table), name.key: name}
        if table == "robot":
            self._name_robot(keys)
        item = _text.table(table, self._with_files(keys))
        _native.check_text(f"add_{table}(…)", item, self._directory)
        self._items.append(item)
        handle = Handle(table, str(keys.get("name", table)))
        self._handles.append(handle)
        return handle

    def _free_name(self, table: str) -> str:
        """The name of the table, or the first with a number behind it that no other thing has."""
        taken = {handle.name for handle in self._handles}
        names = itertools.chain([table], (f"{table}{n}" for n in itertools.count(2)))
        return next(name for name in names if name not in taken)

    def _name_robot(self, keys: dict[str, Any]) -> None:
        """A robot that is given by its file alone is called as the file calls it."""
        name = keys.get("name")
        by_path = isinstance(name, str) and name.lower().endswith(ROBOTS)
        if by_path and "file" not in keys and "text" not in keys:
            keys["file"] = keys.pop("name")
        if "name" not in keys and ("file" in keys or "text" in keys):
            path = os.path.join(self._directory, keys["file"]) if "file" in keys else None
            keys["name"] = _native.robot_name(path, str(keys.get("text", "")))

    def add_plane(
        self,
        name: str = "ground",
        *,
        point: ArrayLike | None = None,
        normal: ArrayLike | None = None,
        belt: ArrayLike | None = None,
    ) -> Handle:
        """A solid half-space that does not move: `add_ground` under another name.

        Args:
            name: Name.
            point: A point of its surface. [m] Default: [0, 0, 0].
            normal: Direction out of the solid, of any length. Default: [0, 0, 1].
            belt: Velocity of its surface, as of a conveyor belt (`impulse` only). [m/s] Default: [0, 0, 0].
        """
        return self.add_ground(name, point=point, normal=normal, belt=belt)

    def _with_files(self, keys: Mapping[str, Any]) -> dict[str, Any]:
        """Scenes name files relative to themselves."""

        def beside(key: str, item: Any) -> Any:
            if isinstance(item, Mesh):
                item = item.value
            if isinstance(item, Mapping):
                return self._with_files(item)
            if key in ("file", "mesh") and isinstance(item, (str, os.PathLike)) and os.path.isabs(item):
                return os.path.relpath(item, self._directory)
            return item

        return {key: beside(key, item) for key, item in keys.items()}

    def add_force(
        self,
        function: Force,
        on: Points = (),
        *,
        name: str = "python",
        energy: Callable[..., float] | None = None,
        coupled: bool = False,
    ) -> Handle:
        """Adds a force written in Python.

        Args:
            function: `f(t, x, v, m)` with time [s], positions [m] and velocities [m/s] of shape (n, 3) and masses [kg];
                returns forces [N] of shape (n, 3).
            on: Points that feel it, such as "rope" or "rope[0:5]"; all particles if empty.
            name: Name, for the quantity `energy.NAME` and for messages.
            energy: `W(t, x)` [J], if the force has one.
            coupled: The force on a point depends on other points too. Implicit methods then use no slope of it.

        An exception in a function ends the step, which leaves the state as it was, and is raised by `step`.
        """
        self._forces.append((name, _names(on), function, energy, coupled))
        return Handle("force", name)

    def add_constraint(
        self,
        function: Callable[..., ArrayLike],
        points: Sequence[str | Handle | tuple[str | Handle, Sequence[float]]],
        *,
        rows: int = 1,
        name: str = "constraint",
        jacobian: Callable[..., ArrayLike] | None = None,
    ) -> Handle:
        """Adds equations C(t, x) = 0 written in Python, which hold exactly under `lagrange` and `impulse`.

        Args:
            function: `C(t, x)` with time [s] and positions [m] of shape (k, 3); returns `rows` numbers.
            points: One to four points: a particle, a body, or (body, place in its frame [m]).
            rows: Number of equations, 1 to 6.
            name: Name, unique among joints.
            jacobian: ∂C/∂x of shape (rows, k, 3); central differences if absent.
        """
        places = []
        for point in points:
            body, place = (point, (0.0, 0.0, 0.0)) if isinstance(point, (str, Handle)) else point
            x, y, z = (float(c) for c in place)
            places.append((body.name if isinstance(body, Handle) else body, [x, y, z]))
        self._constraints.append((name, places, rows, function, jacobian))
        return Handle("constraint", name)

    def animate(self, on: Points, function: Callable[[float], ArrayLike]) -> None:
        """Prescribes the motion of points: `function(t)` gives their displacement [m] from where they start, shape (3,)."""
        self._motions.append((_names(on), function))

    def add_articulation(
        self,
        name: str,
        joints: Sequence[str | Handle],
        *,
        floating: str | Handle | None = None,
        welded: Sequence[str | Handle] = (),
    ) -> Handle:
        """Adds bodies whose joint-space dynamics are computed elsewhere (method `ipc`); see `Simulation.articulation`.

        Args:
            name: Name, unique among articulations.
            joints: Hinges, sliders and balls of the scene, in the order of the freedoms.
            floating: A body whose six freedoms come first: shifts of its origin in world axes, turns in its own.
            welded: More bodies, that fixed joints tie to those of the joints.

        These bodies lose inertia and weight: the mass matrix that drives them stands for both.
        """
        body = floating.name if isinstance(floating, Handle) else floating
        self._articulations.append((name, _names(joints), body, _names(welded)))
        return Handle("articulation", name)

    def add_controller(self, function: Callable[[Simulation], object]) -> None:
        """Calls `function(simulation)` before every step of the simulation that `build` returns."""
        self._controllers.append(function)

    @property
    def text(self) -> str:
        """The scene as the text of a TOML file (functions of Python are not in it)."""
        return self._text_in(self._directory)

    def _text_in(self, directory: str) -> str:
        """The text of a file in a folder."""
        head = "\n".join(_text.lines(self._settings))
        base = self._base
        if self._path is not None:
            if Path(self._path).suffix.lower() in ROBOTS:
                base = _native.robot_scene(self._path)
            else:
                loaded = os.path.relpath(os.path.join(self._directory, os.path.basename(self._path)), directory)
                head = f"include = [{_text.text(loaded)}]\n" + head
        if base and self._settings:
            # Settings of ours stand instead of those of the text, which come before its first table.
            base = _without(base, self._settings)
        return "\n".join(part for part in [head, base, *self._items] if part).strip() + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the scene file, for the program `dalembert`.

        A scene that was loaded includes its file, which therefore is not overwritten. Files that the scene names are looked
        for beside the new file: where one is missing there, nothing is written and `SceneError` tells which.
        """
        if self._path is not None and os.path.exists(path) and os.path.samefile(path, self._path):
            raise _native.Error(f"`{os.fspath(path)}` is the file that this scene was loaded from: save it under another name")
        directory = os.path.dirname(os.path.abspath(path))
        text = self._text_in(directory)
        _native.check_text(os.path.basename(path), text, directory)
        Path(path).write_text(text, encoding="utf-8")

    def model(self) -> _native.Model:
        """Checks everything and returns the model; raises `SceneError` with file, line, name and number."""
        plain = self._path is not None and not (self._settings or self._items)
        return _native.build(
            self._path if plain else None,
            "scene.toml",
            "" if plain else self.text,
            self._directory,
            self._forces,
            self._constraints,
            self._motions,
            self._articulations,
        )

    def build(self) -> Simulation:
        """Checks everything and returns a simulation at its start."""
        simulation = Simulation(self.model())
        for controller in self._controllers:
            simulation.add_controller(controller)
        for handle in self._handles:
            handle._bind(simulation)
        return simulation

    def __repr__(self) -> str:
        return f"<dalembert.Scene: {len(self._items)} tables, {len(self._forces)} forces of Python>"


def _without(text: str, keys: dict[str, Any]) -> str:
    """The text without lines that give these keys before its first table."""
    out, inside = [], False
    for line in text.splitlines():
        inside = inside or line.lstrip().startswith("[")
        if inside or line.split("=")[0].strip() not in keys:
            out.append(line)
    return "\n".join(out) + "\n"
