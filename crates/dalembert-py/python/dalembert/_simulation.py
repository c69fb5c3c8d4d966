"""Simulations: live arrays over a model that steps."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _native
from ._views import Affine, Generalized, Points, Rigid, Robot, view_of

Array: TypeAlias = npt.NDArray[np.float64]


class State:
    """A copy of everything that changes: enough to go on with the same bits.

    `q`, `v` and `robots` are views into `packed`, so they can be changed in place; behind its fixed part `packed` has the
    contacts of the last step, if any. States can be pickled, copied and saved; they belong to any model of the same scene.
    """

    __slots__ = ("packed", "layout", "scene")

    def __init__(self, model: _native.Model, packed: npt.ArrayLike | None = None) -> None:
        start = model.start_packed() if packed is None else np.array(packed, dtype=np.float64)
        needed = model.layout["packed"]
        if start.ndim != 1 or len(start) < needed:
            raise ValueError(f"a state of this scene has at least {needed} numbers, not the shape {start.shape}")
        self.packed: Array = start
        self.layout: dict[str, int] = model.layout
        self.scene: str = fingerprint(model)

    @property
    def time(self) -> float:
        """Time [s]."""
        return float(self.packed[0])

    @property
    def steps(self) -> int:
        """Steps taken."""
        return int(self.packed[2])

    @property
    def q(self) -> Array:
        """Coordinates, shape (nq + robot_q,): those of `LiveState.q` without the carried points."""
        first = self.layout["packed_q"]
        return self.packed[first : first + self.layout["nq"] + self.layout["robot_q"]]

    @property
    def v(self) -> Array:
        """Velocities, shape (nv + robot_v,): those of `LiveState.v` without the carried points."""
        first = self.layout["packed_v"]
        return self.packed[first : first + self.layout["nv"] + self.layout["robot_v"]]

    @property
    def robots(self) -> Array:
        """Lists of all robots, shape (robots,): activation, control, tau, acceleration and force, each of all robots."""
        first = self.layout["packed_robots"]
        return self.packed[first : first + self.layout["robots"]]

    def copy(self) -> State:
        """A copy of its own."""
        new = object.__new__(State)
        new.packed, new.layout, new.scene = self.packed.copy(), self.layout, self.scene
        return new

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        return self.copy()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a NumPy `.npz` file."""
        layout = np.array(list(self.layout.items()), dtype=object).astype(str)
        np.savez(os.fspath(path), packed=self.packed, layout=layout, scene=np.array(self.scene))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> State:
        """Reads what `save` wrote."""
        with np.load(os.fspath(path), allow_pickle=False) as file:
            new = object.__new__(State)
            new.packed = np.array(file["packed"], dtype=np.float64)
            new.layout = {str(name): int(size) for name, size in file["layout"]}
            new.scene = str(file["scene"])
        if "robot_q" not in new.layout:
            if new.layout.get("robots"):
                raise ValueError(f"{os.fspath(path)}: saved by an older version, which laid robots out otherwise")
            new.layout.update(robot_q=0, robot_v=0)
        return new

    def __getstate__(self) -> tuple[Array, dict[str, int], str]:
        return self.packed, self.layout, self.scene

    def __setstate__(self, state: tuple[Array, dict[str, int], str]) -> None:
        self.packed, self.layout, self.scene = state

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.scene == other.scene and np.array_equal(self.packed, other.packed)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<dalembert.State at t = {self.time} s, {self.steps} steps, {len(self.packed)} numbers>"


def fingerprint(model: _native.Model) -> str:
    """Tells scenes apart."""
    return hashlib.sha256(model.json.encode()).hexdigest()[:16]


class LiveState:
    """The state of a simulation: live arrays, each a view that stays valid as long as the simulation.

    What is written into them is taken over by the next step (or energy, quantity, …). During a step that runs in
    another thread they show the numbers of before it, and what is written into them is lost.
    """

    __slots__ = ("_simulation", "q", "v", "applied", "robots", "multipliers")

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        buffer, (q, v, applied, robots, multipliers, end) = simulation.buffer, simulation.parts
        self.q: Array = buffer[q:v]
        """Coordinates, shape (layout["len_q"],): rigid bodies 7 each (centre of mass [m], quaternion w, x, y, z),
        generalized ones, then all points 3 each [m]: particles, affine bodies (centre of mass and the three columns of A),
        and carried points, which follow the others; robots last. `simulation.robot(name).q` is a view of a robot's."""
        self.v: Array = buffer[v:applied]
        """Velocities, shape (layout["len_v"],): rigid bodies 6 each (of the centre of mass [m/s], angular [rad/s], both in
        world axes), generalized ones, then all points 3 each [m/s], then robots, in the order of `q`.
        `simulation.robot(name).v` is a view of a robot's."""
        self.applied: Array = buffer[applied:robots]
        """Forces from outside [N or N·m], laid out like v, which act until they are set anew."""
        self.robots: Array = buffer[robots:multipliers]
        """Lists of all robots: activation, control, tau, acceleration and force; `simulation.robot(name)` has them by name."""
        self.multipliers: Array = buffer[multipliers:end]
        """Multipliers λ of the last step, six per constraint [N or N·m]. Written, they have no effect."""

    @property
    def time(self) -> float:
        """Time [s]."""
        return self._simulation.time

    @property
    def steps(self) -> int:
        """Steps taken."""
        return self._simulation.steps

    def copy(self) -> State:
        """A copy of everything that changes."""
        return State(self._simulation.model, self._simulation.pack())


class Articulation:
    """Bodies whose joint-space dynamics are computed elsewhere, inside an `ipc` scene.

    Before each step its driver gives the effective mass M (m, m) and the increments δθ̃ (m,) that the freedoms would make
    without contact; the step minimises ½ (δθ − δθ̃)ᵀ M (δθ − δθ̃) / h² together with everything else.
    """

    __slots__ = ("_simulation", "name", "freedoms", "joints", "links", "external")

    def __init__(self, simulation: Simulation, name: str) -> None:
        rows = {row[0]: row for row in _native.articulations(simulation)}
        if name not in rows:
            raise KeyError(f"there is no articulation `{name}`; there are {', '.join(f'`{n}`' for n in rows)}")
        self._simulation = simulation
        self.name: str = name
        _, self.freedoms, self.joints, self.links, self.external = rows[name]

    def drive(self, mass: npt.ArrayLike, delta: npt.ArrayLike, reference: npt.ArrayLike | None = None) -> None:
        """Gives what acts from the next step on, until it is given anew.

        Args:
            mass: Effective mass M, shape (m, m), symmetric and positive definite [kg·m², kg·m, kg].
            delta: Increments of a step without contact, shape (m,) [rad or m].
            reference: Where the links stand for the other engine, shape (links, 12): origin [m], rows of A. Increments
                count from there, so that the two cannot drift apart; from the state here if absent.
        """
        for what, given in (("mass", mass), ("delta", delta), ("reference", reference)):
            if given is not None and np.iscomplexobj(given):
                raise TypeError(f"{what} holds complex numbers")
        _native.set_drive(self._simulation, self.name, mass, delta, reference)

    def drive_by(self, function: Callable[[Simulation], tuple[Any, ...]]) -> None:
        """Calls `function(simulation)` before every step; it returns (mass, delta) or (mass, delta, reference)."""
        self._simulation.add_controller(lambda simulation: self.drive(*function(simulation)))

    def _report(self) -> tuple[Array, Array, Array]:
        report = _native.drive_report(self._simulation, self.name)
        if report is None:
            raise _native.Error(f"`{self.name}` has made no step yet")
        return report

    @property
    def delta(self) -> Array:
        """Increments δθ of the last step, shape (m,) [rad or m]."""
        return self._report()[0]

    @property
    def force(self) -> Array:
        """M (δθ − δθ̃) / h²: what contact did to the freedoms in the last step, shape (m,) [N·m or N]."""
        return self._report()[1]

    @property
    def wrenches(self) -> Array:
        """Force [N] and torque about its centre [N·m] of contact on each link, world axes, shape (links, 6)."""
        return self._report()[2]

    @property
    def dofs(self) -> Array:
        """Places of the links now, shape (links, 12): origin [m], rows of A. A copy."""
        return _native.link_dofs(self._simulation, self.name)

    def __repr__(self) -> str:
        return f"<Articulation `{self.name}`: {self.freedoms} freedoms, {len(self.links)} links>"


class Contacts:
    """Points of contact and their forces, as arrays: a copy, made when it was asked for.

    `len(contacts)` is their number; `contacts.between("box", "ground")` has those between two things.
    """

    __slots__ = ("names", "table")

    def __init__(self, names: list[tuple[str, str]], table: Array) -> None:
        self.names: list[tuple[str, str]] = names
        """Names of both things of each contact: bodies, soft things, grounds, links of robots (`robot/link`)."""
        self.table: Array = table
        """All numbers, shape (n, 10): the columns below, in order."""

    @property
    def points(self) -> Array:
        """Where they touch [m], shape (n, 3)."""
        return self.table[:, 0:3]

    @property
    def normals(self) -> Array:
        """Unit normals from the second thing towards the first, shape (n, 3)."""
        return self.table[:, 3:6]

    @property
    def forces(self) -> Array:
        """Forces on the first thing, friction included [N], shape (n, 3); the second gets the opposite."""
        return self.table[:, 6:9]

    @property
    def gaps(self) -> Array:
        """Distances of the surfaces [m], shape (n,); negative where they overlap."""
        return self.table[:, 9]

    def between(self, a: str, b: str | None = None) -> Contacts:
        """Those of `a` with `b` (with anything if absent), each turned so that `a` is the first thing."""
        names, rows = [], []
        for (first, second), row in zip(self.names, self.table, strict=True):
            if first == a and b in (None, second):
                names.append((first, second))
                rows.append(row)
            elif second == a and b in (None, first):
                names.append((second, first))
                rows.append(np.concatenate([row[:3], -row[3:9], row[9:]]))
        return Contacts(names, np.array(rows).reshape(len(rows), 10))

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<Contacts: {len(self)} points>"


class Simulation(_native.Simulation):
    """A model, its state and a method, stepped together.

    `step` and `run` release the interpreter's lock. One simulation is stepped by one thread at a time: a second one gets
    `BusyError`. Names lead to live views: `simulation["ball"].position`, `simulation["cloth"].x`,
    `simulation.robot("arm").control["elbow"]`.
    """

    def __init__(self, model: _native.Model) -> None:
        self._state = LiveState(self)
        self._views: dict[str, Any] = {}
        self._scene: str | None = None

    @property
    def state(self) -> LiveState:
        """Live arrays; `.copy()` keeps them, and a `State` can be assigned."""
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        if self._scene is None:
            self._scene = fingerprint(self.model)
        if state.scene != self._scene:
            raise ValueError("this state belongs to another scene")
        self.unpack(state.packed)

    @property
    def q(self) -> Array:
        """Coordinates, live, shape (layout["len_q"],): see `LiveState.q`."""
        return self._state.q

    @property
    def v(self) -> Array:
        """Velocities, live, shape (layout["len_v"],): see `LiveState.v`."""
        return self._state.v

    @property
    def applied(self) -> Array:
        """Forces from outside [N or N·m], live, laid out like v."""
        return self._state.applied

    @property
    def x(self) -> Array:
        """Places of all points [m], live, shape (points, 3); of an affine body the centre of mass and the columns of A."""
        first, count = self.model.layout["points_q"], self.model.layout["points"]
        return self._state.q[first : first + 3 * count].reshape(-1, 3)

    def reset(self) -> None:
        """Back to the start."""
        self.applied[:] = 0.0
        self.unpack(self.model.start_packed())

    @property
    def names(self) -> list[str]:
        """Names that `simulation[name]` knows."""
        return [block[0] for block in self.model.blocks]

    def __getitem__(self, name: str) -> Rigid | Points | Affine | Generalized | Robot:
        view = self._views.get(name)
        if view is None:
            view = self._views[name] = view_of(self, name)
        return view

    def robot(self, name: str | None = None) -> Robot:
        """The live view of a robot; of the only one if no name is given."""
        name = self.model.robot(name).name
        view = self[name]
        assert isinstance(view, Robot)
        return view

    def points(self, name: str) -> Points:
        """The live view of particles, cloth, a soft body or carried points."""
        view = self[name]
        if not isinstance(view, Points):
            raise TypeError(f"`{name}` is no set of points")
        return view

    def rigid(self, name: str) -> Rigid:
        """The live view of a rigid body."""
        view = self[name]
        if not isinstance(view, Rigid):
            raise TypeError(f"`{name}` is no rigid body")
        return view

    def articulation(self, name: str) -> Articulation:
        """Bodies whose joint-space dynamics are computed elsewhere."""
        return Articulation(self, name)

    @property
    def contacts(self) -> Contacts:
        """Contacts and their forces: of the last step under `impulse` and `lagrange`, at the present state under `ipc`."""
        return Contacts(*self.contact_table())

    def picture(self, width: int = 640, height: int = 480) -> bytes:
        """A picture of now, as PNG."""
        return _native.picture(self, width, height)

    def pixels(self, width: int = 640, height: int = 480) -> npt.NDArray[np.uint8]:
        """A picture of now, shape (height, width, 3)."""
        return _native.pixels(self, width, height)

    def frames(self, duration: float, fps: float = 30.0) -> Iterator[float]:
        """Steps for `duration` seconds and yields the time about `fps` times per second."""
        end = self.time + duration
        stride = max(1, round(1.0 / (fps * self.dt)))
        while self.time < end - 0.5 * self.dt:
            self.step(min(stride, max(1, round((end - self.time) / self.dt))))
            yield self.time

    def __reduce__(self) -> Any:
        return _restored, (self.model, self.pack())

    def _repr_html_(self) -> str:
        energy = self.energy
        data = base64.b64encode(self.picture(480, 360)).decode()
        rows = [
            ("time", f"{self.time:.6g} s"),
            ("method", f"{self.model.method}, dt = {self.dt:g} s"),
            ("energy", f"{energy.total:.6g} J"),
            ("bodies", ", ".join(self.names[:12])),
        ]
        table = "".join(f"<tr><th>{name}</th><td>{_escaped(text)}</td></tr>" for name, text in rows)
        title = _escaped(self.model.title or "dalembert")
        return f'<div><b>{title}</b><br><img src="data:image/png;base64,{data}"><table>{table}</table></div>'

    def __repr__(self) -> str:
        return f"<dalembert.Simulation {self.model.title!r}: t = {self.time} s, method {self.model.method}>"


def _restored(model: _native.Model, packed: Array) -> Simulation:
    simulation = Simulation(model)
    simulation.unpack(packed)
    return simulation


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
