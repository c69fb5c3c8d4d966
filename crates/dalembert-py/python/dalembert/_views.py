"""Live views of the things in a simulation: slices of its arrays under the names of the scene."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _native

if TYPE_CHECKING:
    from ._simulation import LiveState, Simulation

Array: TypeAlias = npt.NDArray[np.float64]


class NamedArray(np.ndarray[Any, np.dtype[np.float64]]):
    """An array whose entries can be named: `control["elbow"] = 0.3`. A name that spans several entries gives a view."""

    names: dict[str, int | slice]

    def __array_finalize__(self, source: Any) -> None:
        self.names = {}

    def _place(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(f"there is no `{key}`; there are {', '.join(f'`{n}`' for n in self.names)}")
            return self.names[key]
        return key

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self._place(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(self._place(key), value)


def _named(array: Array, names: dict[str, int | slice]) -> NamedArray:
    view = array.view(NamedArray)
    view.names = names
    return view


class _View:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __setattr__(self, name: str, value: Any) -> None:
        # `ball.position = (1, 2, 3)` writes into the live array, as `ball.position[:] = …` does.
        live = getattr(self, name, None)
        if isinstance(live, np.ndarray):
            live[...] = value
        else:
            super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} `{self.name}`>"


class Rigid(_View):
    """A rigid body. All attributes are live views."""

    __slots__ = ("position", "orientation", "velocity", "angular_velocity", "force", "torque")

    def __init__(self, name: str, q: Array, v: Array, applied: Array) -> None:
        super().__init__(name)
        self.position: Array = q[0:3]
        """Centre of mass [m], shape (3,)."""
        self.orientation: Array = q[3:7]
        """Unit quaternion w, x, y, z, body → world, shape (4,); normed by the next step."""
        self.velocity: Array = v[0:3]
        """Velocity of the centre of mass [m/s], world axes, shape (3,)."""
        self.angular_velocity: Array = v[3:6]
        """Angular velocity [rad/s], world axes, shape (3,)."""
        self.force: Array = applied[0:3]
        """Force from outside at the centre of mass [N], shape (3,), until it is set anew."""
        self.torque: Array = applied[3:6]
        """Torque from outside [N·m], shape (3,), until it is set anew."""


class Points(_View):
    """Particles, the nodes of cloth, soft bodies and rods, or carried points. All arrays are live views."""

    __slots__ = ("x", "v", "force", "_model")

    def __init__(self, name: str, q: Array, v: Array, applied: Array, model: _native.Model) -> None:
        super().__init__(name)
        self.x: Array = q.reshape(-1, 3)
        """Places [m], shape (n, 3)."""
        self.v: Array = v.reshape(-1, 3)
        """Velocities [m/s], shape (n, 3)."""
        self.force: Array = applied.reshape(-1, 3)
        """Forces from outside [N], shape (n, 3), until they are set anew."""
        self._model = model

    @property
    def triangles(self) -> npt.NDArray[np.uint32]:
        """Triangles of its surface, shape (m, 3): numbers of its points."""
        return self._model.triangles(self.name)

    def __len__(self) -> int:
        return len(self.x)


class Affine(_View):
    """An affine body x = p + A X. The arrays are live views."""

    __slots__ = ("position", "deformation", "velocity", "deformation_rate")

    def __init__(self, name: str, q: Array, v: Array) -> None:
        super().__init__(name)
        self.position: Array = q[0:3]
        """Centre of mass p [m], shape (3,)."""
        self.deformation: Array = q[3:12].reshape(3, 3).T
        """A, shape (3, 3)."""
        self.velocity: Array = v[0:3]
        """ṗ [m/s], shape (3,)."""
        self.deformation_rate: Array = v[3:12].reshape(3, 3).T
        """Ȧ [1/s], shape (3, 3)."""

    @property
    def coordinates(self) -> Array:
        """(p, rows of A), shape (12,). A copy."""
        return np.concatenate([self.position, self.deformation.ravel()])


class Generalized(_View):
    """A body with generalized coordinates. All arrays are live views."""

    __slots__ = ("u", "du", "force")

    def __init__(self, name: str, q: Array, v: Array, applied: Array) -> None:
        super().__init__(name)
        self.u: Array = q
        """Coordinates."""
        self.du: Array = v
        """Their rates [1/s]."""
        self.force: Array = applied
        """Generalized forces from outside."""


class Robot(_View):
    """A robot. The arrays are live views and take names of joints and actuators: `arm.control["elbow"] = 0.3`."""

    __slots__ = ("model", "q", "v", "activation", "control", "tau", "acceleration", "force")

    def __init__(self, name: str, state: LiveState, model: _native.RobotModel) -> None:
        super().__init__(name)
        self.model: _native.RobotModel = model
        """Names, kinematics and dynamics at any q."""
        joints = {j[0]: (j[2] if j[3] == j[2] + 1 else slice(j[2], j[3])) for j in model.joints if j[0]}
        dofs = {j[0]: (j[4] if j[5] == j[4] + 1 else slice(j[4], j[5])) for j in model.joints if j[0]}
        actuators: dict[str, int | slice] = {a: i for i, a in enumerate(model.actuators) if a}
        lists = (state.q, state.v, *[state.robots] * 5)
        pieces = (numbers[a:b] for numbers, (a, b) in zip(lists, model.places, strict=True))
        q, v, activation, control, tau, acceleration, force = pieces
        self.q: NamedArray = _named(q, joints)
        """Coordinates [rad or m], shape (nq,), by joint; a free joint has place and quaternion w, x, y, z."""
        self.v: NamedArray = _named(v, dofs)
        """Velocities [rad/s or m/s], shape (nv,), by joint; of a free joint linear in world, angular in body axes."""
        self.activation: Array = activation
        """Activations of the actuators."""
        self.control: NamedArray = _named(control, actuators)
        """Controls, shape (nu,), by actuator."""
        self.tau: NamedArray = _named(tau, dofs)
        """Forces from outside on the dofs [N·m or N], shape (nv,), by joint, until they are set anew."""
        self.acceleration: NamedArray = _named(acceleration, dofs)
        """Mean accelerations of the last step, shape (nv,)."""
        self.force: NamedArray = _named(force, actuators)
        """Actuator forces of the last step [N·m or N], shape (nu,)."""

    @property
    def ctrl(self) -> NamedArray:
        """`control` under its name in MuJoCo."""
        return self.control

    def position(self, frame: str) -> Array:
        """Place of a site or body now [m], world axes, shape (3,)."""
        return self.model.position(frame, self.q)

    def rotation(self, frame: str) -> Array:
        """Axes of a site or body now, as columns, shape (3, 3)."""
        return self.model.rotation(frame, self.q)

    def jacobian(self, frame: str) -> Array:
        """Jacobian of a site or body now, shape (6, nv): linear, then angular velocity, world axes."""
        return self.model.jacobian(frame, self.q)

    def mass_matrix(self) -> Array:
        """Mass matrix now, shape (nv, nv)."""
        return self.model.mass_matrix(self.q)

    def inverse_dynamics(self, acceleration: npt.ArrayLike | None = None) -> Array:
        """Forces on the dofs [N·m or N] under which it accelerates so; without an argument those that hold it."""
        wanted = np.zeros(self.model.nv) if acceleration is None else np.asarray(acceleration, dtype=np.float64)
        return self.model.inverse_dynamics(self.q, self.v, wanted)


def view_of(simulation: Simulation, name: str) -> Rigid | Points | Affine | Generalized | Robot:
    """The live view of what is called `name`."""
    model, state = simulation.model, simulation.state
    if name in model.robots:
        return Robot(name, state, model.robot(name))
    for block, kind, q0, q1, v0, v1, _, _ in model.blocks:
        if block == name:
            q, v, applied = state.q[q0:q1], state.v[v0:v1], state.applied[v0:v1]
            match kind:
                case "rigid":
                    return Rigid(name, q, v, applied)
                case "generalized":
                    return Generalized(name, q, v, applied)
                case "affine":
                    return Affine(name, q, v)
                case _:
                    return Points(name, q, v, applied, model)
    known = [block[0] for block in model.blocks]
    raise KeyError(f"there is no `{name}` in this simulation; there are {', '.join(f'`{n}`' for n in known)}")
