"""Batches: many states under one model, on all threads, without the interpreter's lock."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _native
from ._simulation import State

Array: TypeAlias = npt.NDArray[np.float64]


MOST_THREADS = 1024
"""Most threads of a batch, as of the program."""
MOST_STEPS = 10**12
"""Most steps of a batch, as of the program."""


def _whole(what: str, number: object, least: int, most: int) -> int:
    """A whole number within bounds."""
    value = operator.index(number)  # type: ignore[arg-type]
    if not least <= value <= most:
        raise ValueError(f"{what} must lie between {least} and {most}, not {value}")
    return value


@dataclass(frozen=True)
class RobotRollout:
    """A robot along rollouts; views of shape (rows, frames, …)."""

    q: Array
    """Coordinates [rad or m]."""
    v: Array
    """Velocities [rad/s or m/s]."""
    control: Array
    """Controls."""


@dataclass(frozen=True)
class Rollout:
    """What `rollout` returns."""

    model: _native.Model
    packed: Array
    """Packed states, shape (rows, frames, layout["packed"]); the arrays below are views of it."""
    errors: list[tuple[int, int, str]]
    """Row, step and message of those that failed; their frames repeat the last good state."""
    tails: Array
    """Contacts (and times at rest) of all frames, one after the other."""
    lengths: npt.NDArray[np.uint64]
    """How many numbers of `tails` belong to each frame, shape (rows, frames)."""

    @property
    def time(self) -> Array:
        """Times [s], shape (rows, frames)."""
        return self.packed[:, :, 0]

    @property
    def q(self) -> Array:
        """Coordinates without carried points, shape (rows, frames, nq + robot_q)."""
        first, layout = self.model.layout["packed_q"], self.model.layout
        return self.packed[:, :, first : first + layout["nq"] + layout["robot_q"]]

    @property
    def v(self) -> Array:
        """Velocities without carried points, shape (rows, frames, nv + robot_v)."""
        first, layout = self.model.layout["packed_v"], self.model.layout
        return self.packed[:, :, first : first + layout["nv"] + layout["robot_v"]]

    def robot(self, name: str | None = None) -> RobotRollout:
        """The numbers of a robot; of the only one if no name is given."""
        q, v, _, control, *_ = self.model.robot(name).packed_places
        q_, v_, c_ = (self.packed[:, :, a:b] for a, b in (q, v, control))
        return RobotRollout(q_, v_, c_)

    def state(self, row: int, frame: int = -1) -> State:
        """One of the states, its contacts included."""
        place = range(self.lengths.shape[1])[frame] + row * self.lengths.shape[1]
        ends = np.cumsum(self.lengths, dtype=np.int64)
        end = int(ends.flat[place])
        tail = self.tails[end - int(self.lengths.flat[place]) : end]
        return State(self.model, np.concatenate([self.packed[row, frame], tail]))

    def last(self) -> list[State]:
        """The states after the last frame, one per row: what another rollout goes on from."""
        return [self.state(row) for row in range(len(self.packed))]


def rollout(
    model: _native.Model,
    states: State | Sequence[State] | npt.ArrayLike | None = None,
    controls: npt.ArrayLike | None = None,
    *,
    steps: int | None = None,
    every: int = 1,
    threads: int | None = None,
    on_error: Literal["raise", "keep"] = "raise",
) -> Rollout:
    """Steps many states under one model, on all threads, without the interpreter's lock.

    The results do not depend on the number of threads, bit for bit.

    Args:
        model: The model; its method and dt are used.
        states: States, or packed states of shape (rows, packed) or (packed,); the start of the model if absent.
        controls: Controls of all actuators, robot after robot, shape (rows, steps, nu) or (steps, nu) for all rows.
        steps: Number of steps; that of `controls` if absent.
        every: A frame is kept after every so many steps.
        threads: Number of threads, 1 to 1024; all of the machine if absent. No more are started than there are rows.
        on_error: "raise" a `StepError` if a row fails, or "keep" going with the others.
    """
    if on_error not in ("raise", "keep"):
        raise ValueError(f'on_error must be "raise" or "keep", not {on_error!r}')
    every = _whole("every", every, 1, MOST_STEPS)
    if threads is not None:
        threads = _whole("threads", threads, 1, MOST_THREADS)
    if states is None or isinstance(states, State):
        states = [State(model) if states is None else states]
    fixed, tails, lengths = model.layout["packed"], np.zeros(0), None
    if isinstance(states, Sequence) and states and isinstance(states[0], State):
        whole = [state.packed for state in states if isinstance(state, State)]
        packed = np.stack([numbers[:fixed] for numbers in whole])
        tails = np.concatenate([numbers[fixed:] for numbers in whole])
        lengths = [len(numbers) - len(numbers[:fixed]) for numbers in whole]
    else:
        packed = np.atleast_2d(np.asarray(states, dtype=np.float64))
    given: Array | None = None
    if controls is not None:
        given = np.asarray(controls, dtype=np.float64)
        if given.ndim == 3 and len(packed) == 1:
            packed = np.repeat(packed, len(given), axis=0)
            if lengths is not None:
                tails, lengths = np.tile(tails, len(given)), lengths * len(given)
        if given.ndim == 2:
            given = np.broadcast_to(given, (len(packed), *given.shape))
        if given.ndim != 3:
            raise ValueError(f"controls must have the shape (rows, steps, nu) or (steps, nu), not {given.shape}")
    if steps is None:
        if given is None:
            raise ValueError("say how many `steps`")
        steps = given.shape[1]
    steps = _whole("steps", steps, 0, MOST_STEPS)
    if lengths is None:
        lengths = [0] * len(packed)
    out, behind, counts, errors, diverged = _native.rollout(
        model, np.ascontiguousarray(packed), np.ascontiguousarray(tails), lengths, given, steps, every, threads
    )
    if errors and on_error == "raise":
        row, step, message = errors[0]
        kind = _native.DivergedError if diverged[0] else _native.StepError
        raise kind(f"row {row}, step {step}: {message}")
    return Rollout(model, out, errors, behind, counts)
