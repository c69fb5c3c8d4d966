"""Gymnasium environments: an arm that reaches, a cloth to fold, a quadruped to walk.

Importing this module registers `dalembert/ArmReach-v0`, `dalembert/ClothFold-v0` and `dalembert/Quadruped-v0`:

>>> import gymnasium, dalembert.gym  # doctest: +SKIP
>>> env = gymnasium.make("dalembert/ArmReach-v0")  # doctest: +SKIP

`ArmReachVector`, `ClothFoldVector` and `QuadrupedVector` step a whole batch on all threads.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError as error:  # pragma: no cover
    raise ImportError("dalembert.gym needs Gymnasium: pip install 'dalembert[gym]'") from error

from . import examples
from ._rollout import rollout
from ._scene import Scene
from ._simulation import Simulation, State

Array: TypeAlias = npt.NDArray[np.float64]
Info: TypeAlias = dict[str, Any]


def _box(bound: float, n: int) -> Any:
    return spaces.Box(-bound, bound, (n,), np.float64)


class _Env(gymnasium.Env[Array, Array]):
    """What all environments share: a simulation, its start, and pictures."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}
    simulation: Simulation

    def __init__(self, scene: Scene, render_mode: str | None = None) -> None:
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode is None or 'rgb_array', not {render_mode!r}")
        self.render_mode = render_mode
        self.simulation = scene.build()
        # A frame per action.
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": 50}

    def render(self) -> Any:
        """A picture of now, shape (height, width, 3), if the render mode is "rgb_array"."""
        return self.simulation.pixels(320, 240) if self.render_mode == "rgb_array" else None


# ------------------------------------------------------------------------------------------- arm

ARM_JOINTS = 7
ARM_SUBSTEPS = 10
ARM_STRIDE = 0.1
"""Largest change of a joint target per action [rad]."""
ARM_NEAR = 0.03
"""The target is reached within this distance [m]."""


def arm_scene() -> Scene:
    """The seven-joint arm of the package with its position servos, 2 ms per step."""
    scene = Scene(title="Arm", method="impulse", dt=0.002)
    scene.add_robot("arm", text=examples()["robots/arm.xml"])
    return scene


class _ArmTask:
    """Observation, reward and targets of an arm, for one arm and for many."""

    def __init__(self, simulation: Simulation) -> None:
        self.robot = simulation.robot("arm").model
        ranges = [r or (-np.pi, np.pi) for r in self.robot.control_ranges]
        self.low, self.high = np.array(ranges).T
        self.home = np.array(simulation.robot("arm").control)

    def target(self, rng: np.random.Generator) -> Array:
        """A place that some configuration near home reaches."""
        q = np.array(self.robot.keyframe("home")[0])
        q[:ARM_JOINTS] += rng.uniform(-0.6, 0.6, ARM_JOINTS)
        return self.robot.position("grip", q)

    def observation(self, q: Array, v: Array, target: Array) -> Array:
        grip = self.robot.position("grip", q)
        return np.concatenate([q[:ARM_JOINTS], v[:ARM_JOINTS], grip, target - grip])

    def controls(self, control: Array, action: Array) -> Array:
        """The next joint targets [rad]."""
        new = control.copy()
        new[..., :ARM_JOINTS] += ARM_STRIDE * np.clip(action, -1, 1)
        clipped: Array = np.clip(new, self.low, self.high)
        return clipped


class ArmReach(_Env):
    """A seven-joint arm brings its grip to a target.

    Action (7,): changes of the joint targets, ±1 is ±0.1 rad, every 20 ms. Observation (20,): joint angles [rad] and rates
    [rad/s], place of the grip [m], way to the target [m]. Reward: minus the distance [m] and a little of the action; 1
    when the target is reached, which ends the episode.
    """

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(arm_scene(), render_mode)
        self._task = _ArmTask(self.simulation)
        self.action_space = _box(1.0, ARM_JOINTS)
        self.observation_space = _box(np.inf, 2 * ARM_JOINTS + 6)
        self._target = np.zeros(3)

    def _observe(self) -> Array:
        arm = self.simulation.robot("arm")
        return self._task.observation(np.asarray(arm.q), np.asarray(arm.v), self._target)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, Info]:
        """Back to the home configuration with a new target."""
        super().reset(seed=seed)
        self.simulation.reset()
        self._target = self._task.target(self.np_random)
        return self._observe(), {"target": self._target.copy()}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, Info]:
        """Ten steps of 2 ms under new joint targets."""
        arm = self.simulation.robot("arm")
        arm.control[:] = self._task.controls(np.asarray(arm.control), np.asarray(action, dtype=np.float64))
        self.simulation.step(ARM_SUBSTEPS)
        observation = self._observe()
        distance = float(np.linalg.norm(observation[-3:]))
        reached = distance < ARM_NEAR
        reward = -distance - 1e-3 * float(np.sum(np.square(action))) + (1.0 if reached else 0.0)
        return observation, reward, reached, False, {"distance": distance}


class _Vector(VectorEnv[Any, Any, Any]):
    """Many episodes side by side; finished ones start anew in the next step."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}

    def __init__(self, num_envs: int, action: Any, observation: Any, max_episode_steps: int) -> None:
        self.num_envs = num_envs
        self.render_mode = None
        self.single_action_space, self.single_observation_space = action, observation
        self.action_space = batch_space(action, num_envs)
        self.observation_space = batch_space(observation, num_envs)
        self._limit = max_episode_steps
        self._age = np.zeros(num_envs, dtype=np.int64)
        self._done = np.zeros(num_envs, dtype=np.bool_)

    def _finish(
        self, fresh: npt.NDArray[np.bool_], rewards: Array, ended: npt.NDArray[np.bool_]
    ) -> tuple[Any, Any, Any]:
        """Rewards, ends and late ones of a step in which the `fresh` rows started anew."""
        self._age = np.where(fresh, 0, self._age + 1)
        ended, late = ended & ~fresh, (self._age >= self._limit) & ~fresh
        self._done = ended | late
        return np.where(fresh, 0.0, rewards), ended, late


class _RobotVector(_Vector):
    """Many states of one robot, stepped by `rollout`."""

    def __init__(
        self, simulation: Simulation, robot: str, num_envs: int, action: Any, observation: Any, threads: int | None, limit: int
    ) -> None:
        super().__init__(num_envs, action, observation, limit)
        self.model = simulation.model
        self._threads = threads
        self._start = State(self.model)
        q, v, _, control, *_ = simulation.robot(robot).model.packed_places
        self._q, self._v, self._c = (slice(a, b) for a, b in (q, v, control))
        self._states = [self._start.copy() for _ in range(num_envs)]

    def _numbers(self, part: slice) -> Array:
        return np.stack([state.packed[part] for state in self._states])

    def _renewed(self, row: int) -> None:
        """Begins an episode of a row, whose state is the start."""

    def _renew(self, rows: npt.NDArray[np.bool_]) -> None:
        for i in np.flatnonzero(rows):
            self._states[i] = self._start.copy()
            self._renewed(int(i))

    def _observe(self) -> Array:
        raise NotImplementedError

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, Info]:
        """New episodes everywhere."""
        super().reset(seed=seed)
        self._renew(np.ones(self.num_envs, dtype=np.bool_))
        self._age[:], self._done[:] = 0, False
        return self._observe(), {}

    def _roll(self, controls: Array, substeps: int) -> npt.NDArray[np.bool_]:
        """Steps all rows under constant controls; those that had finished start anew instead, and are returned."""
        fresh: npt.NDArray[np.bool_] = self._done.copy()
        batch = np.repeat(controls[:, None, :], substeps, axis=1)
        self._states = rollout(self.model, self._states, batch, every=substeps, threads=self._threads).last()
        self._renew(fresh)
        return fresh


class ArmReachVector(_RobotVector):
    """Many arms that reach, stepped as one batch on all threads. As `ArmReach`; finished ones start anew in the next step."""

    def __init__(self, num_envs: int = 16, *, threads: int | None = None, max_episode_steps: int = 200) -> None:
        simulation = arm_scene().build()
        spaces_ = _box(1.0, ARM_JOINTS), _box(np.inf, 2 * ARM_JOINTS + 6)
        super().__init__(simulation, "arm", num_envs, *spaces_, threads, max_episode_steps)
        self._task = _ArmTask(simulation)
        self._targets = np.zeros((num_envs, 3))

    def _renewed(self, row: int) -> None:
        self._targets[row] = self._task.target(self.np_random)

    def _observe(self) -> Array:
        rows = zip(self._numbers(self._q), self._numbers(self._v), self._targets, strict=True)
        return np.stack([self._task.observation(*row) for row in rows])

    def step(self, actions: Array) -> tuple[Any, Any, Any, Any, Info]:
        """Ten steps of 2 ms of all arms; those that had finished start anew instead."""
        controls = self._task.controls(self._numbers(self._c), np.asarray(actions, dtype=np.float64))
        fresh = self._roll(controls, ARM_SUBSTEPS)
        observations = self._observe()
        distances = np.linalg.norm(observations[:, -3:], axis=1)
        reached = distances < ARM_NEAR
        effort = 1e-3 * np.sum(np.square(actions), axis=1)
        rewards, ended, late = self._finish(fresh, -distances - effort + reached, reached)
        return observations, rewards, ended, late, {"distance": distances}


# ----------------------------------------------------------------------------------------- cloth

CLOTH_CELLS = 6
CLOTH_SPEED = 0.5
"""Largest speed of the hand [m/s]."""


def cloth_scene() -> Scene:
    """A napkin of 30 cm on a table."""
    scene = Scene(title="Napkin", method="implicit", dt=0.01, implicit={"newton": 5, "rayleigh_mass": 1.0})
    scene.add_cloth(
        "napkin",
        grid={"size": [0.3, 0.3], "cells": [CLOTH_CELLS, CLOTH_CELLS]},
        young=2e4,
        thickness=1e-3,
        density=300,
        position=(0, 0, 0.006),
    )
    scene.add_obstacle("table", plane={}, radius=0.005, stiffness=20, damping=0.2)
    return scene


class ClothFold(_Env):
    """Two corners of a napkin are led by a hand onto the other two.

    Action (3,): velocity of the hand, ±1 is ±0.5 m/s, every 20 ms. Observation: places [m] and velocities [m/s] of all
    nodes, place of the hand [m]. Reward: minus the mean distance [m] of the led corners from those they belong on, which
    ends the episode below 2 cm.
    """

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(cloth_scene(), render_mode)
        n = CLOTH_CELLS + 1
        self._led, self._goal = np.array([n - 1, n * n - 1]), np.array([0, n * (n - 1)])
        self.action_space = _box(1.0, 3)
        self.observation_space = _box(np.inf, 6 * n * n + 3)
        self._hand = np.zeros(3)

    def _observe(self) -> Array:
        napkin = self.simulation.points("napkin")
        return np.concatenate([napkin.x.ravel(), napkin.v.ravel(), self._hand])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, Info]:
        """A flat napkin, a little displaced."""
        super().reset(seed=seed)
        self.simulation.reset()
        napkin = self.simulation.points("napkin")
        napkin.x[:, :2] += self.np_random.uniform(-0.02, 0.02, 2)
        self.simulation.settle()
        self._hand = napkin.x[self._led].mean(axis=0)
        return self._observe(), {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, Info]:
        """Two steps of 10 ms with the hand on its way."""
        napkin = self.simulation.points("napkin")
        width = np.array([[0.0, -0.15, 0.0], [0.0, 0.15, 0.0]])
        for _ in range(2):
            self._hand = self._hand + 0.01 * CLOTH_SPEED * np.clip(np.asarray(action, dtype=np.float64), -1, 1)
            self._hand[2] = max(self._hand[2], 0.0)
            # Fingers: a spring and a damper of 4 ms, for corners of about half a gram.
            pull = 8.0 * (self._hand + width - napkin.x[self._led]) - 0.06 * napkin.v[self._led]
            napkin.force[:] = 0
            napkin.force[self._led] = pull
            self.simulation.step()
        gap = napkin.x[self._led] - napkin.x[self._goal]
        distance = float(np.linalg.norm(gap, axis=1).mean())
        return self._observe(), -distance, distance < 0.02, False, {"distance": distance}


class ClothFoldVector(_Vector):
    """Many napkins, each folded by a thread of its own turn. As `ClothFold`; finished ones start anew in the next step."""

    def __init__(self, num_envs: int = 8, *, threads: int | None = None, max_episode_steps: int = 200) -> None:
        self._envs = [ClothFold() for _ in range(num_envs)]
        one = self._envs[0]
        super().__init__(num_envs, one.action_space, one.observation_space, max_episode_steps)
        self._pool = ThreadPoolExecutor(threads)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, Info]:
        """Flat napkins, a little displaced."""
        super().reset(seed=seed)
        self._age[:], self._done[:] = 0, False
        return np.stack([env.reset(seed=self._seed())[0] for env in self._envs]), {}

    def _seed(self) -> int:
        return int(self.np_random.integers(2**31))

    def step(self, actions: Array) -> tuple[Any, Any, Any, Any, Info]:
        """Two steps of 10 ms of all napkins; those that had finished start anew instead."""
        fresh = self._done.copy()
        seeds = [self._seed() if new else None for new in fresh]

        def one(k: int) -> tuple[Array, float, bool, float]:
            env = self._envs[k]
            if fresh[k]:
                return env.reset(seed=seeds[k])[0], 0.0, False, np.nan
            observation, reward, ended, _, info = env.step(np.asarray(actions[k]))
            return observation, reward, ended, info["distance"]

        observations, rewards, ended, distances = zip(*self._pool.map(one, range(self.num_envs)), strict=True)
        rewards_, ended_, late = self._finish(fresh, np.array(rewards), np.array(ended, dtype=np.bool_))
        return np.stack(observations), rewards_, ended_, late, {"distance": np.array(distances)}

    def close_extras(self, **kwargs: Any) -> None:
        """Ends the threads."""
        self._pool.shutdown()


# ------------------------------------------------------------------------------------- quadruped

DOG_SUBSTEPS = 10


def quadruped_scene() -> Scene:
    """The quadruped of the package, standing on the floor of its file, with contact and friction."""
    scene = Scene(title="Quadruped", method="impulse", dt=0.002)
    scene.add_robot("dog", text=examples()["robots/quadruped.xml"], keyframe="stand")
    scene.add_contact(between=["*", "*"])
    return scene


class _DogTask:
    """Controls, reward and end of a quadruped, for one and for many."""

    def __init__(self, simulation: Simulation) -> None:
        self.robot = simulation.robot("dog").model
        self.stance = self.robot.keyframe("stand")[2]

    def controls(self, action: Array) -> Array:
        """Joint targets [rad]."""
        targets: Array = self.stance + 0.5 * np.clip(action, -1, 1)
        return targets

    def disturb(self, q: Array, rng: np.random.Generator) -> None:
        """Sets the joints a little off."""
        q[7:] += rng.uniform(-0.05, 0.05, len(q) - 7)

    def result(self, before: float, q: Array, action: Array) -> tuple[float, bool, Info]:
        """Reward, whether it fell, and what else there is to say."""
        speed = (float(q[0]) - before) / (0.002 * DOG_SUBSTEPS)
        upright = 1 - 2 * (float(q[4]) ** 2 + float(q[5]) ** 2)
        fallen = float(q[2]) < 0.15 or upright < 0.3
        reward = speed + 1.0 - 0.01 * float(np.sum(np.square(action)))
        return reward, bool(fallen), {"speed": speed, "upright": upright}


class Quadruped(_Env):
    """A four-legged robot of 15 kg walks along x; its feet touch the floor with friction.

    Action (12,): joint targets around the stance, ±1 is ±0.5 rad, every 20 ms. Observation (37,): place and quaternion
    (w, x, y, z) of the trunk, joint angles [rad], velocities [m/s, rad/s]. Reward: forward speed [m/s] and 1 for standing,
    less a little of the action. Ends when the trunk is lower than 15 cm or on its side.
    """

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(quadruped_scene(), render_mode)
        self._task = _DogTask(self.simulation)
        dog = self._task.robot
        self.action_space = _box(1.0, dog.nu)
        self.observation_space = _box(np.inf, dog.nq + dog.nv)

    def _observe(self) -> Array:
        dog = self.simulation.robot("dog")
        return np.concatenate([np.asarray(dog.q), np.asarray(dog.v)])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, Info]:
        """Standing, joints a little off."""
        super().reset(seed=seed)
        self.simulation.reset()
        dog = self.simulation.robot("dog")
        self._task.disturb(np.asarray(dog.q), self.np_random)
        dog.control[:] = self._task.stance
        return self._observe(), {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, Info]:
        """Ten steps of 2 ms."""
        dog, action = self.simulation.robot("dog"), np.asarray(action, dtype=np.float64)
        dog.control[:] = self._task.controls(action)
        before = float(dog.q[0])
        self.simulation.step(DOG_SUBSTEPS)
        reward, fallen, info = self._task.result(before, np.asarray(dog.q), action)
        return self._observe(), reward, fallen, False, info


class QuadrupedVector(_RobotVector):
    """Many quadrupeds, stepped as one batch on all threads. As `Quadruped`; finished ones start anew in the next step."""

    def __init__(self, num_envs: int = 16, *, threads: int | None = None, max_episode_steps: int = 500) -> None:
        simulation = quadruped_scene().build()
        self._task = _DogTask(simulation)
        dog = self._task.robot
        spaces_ = _box(1.0, dog.nu), _box(np.inf, dog.nq + dog.nv)
        super().__init__(simulation, "dog", num_envs, *spaces_, threads, max_episode_steps)

    def _renewed(self, row: int) -> None:
        self._task.disturb(self._states[row].packed[self._q], self.np_random)

    def _observe(self) -> Array:
        return np.concatenate([self._numbers(self._q), self._numbers(self._v)], axis=1)

    def step(self, actions: Array) -> tuple[Any, Any, Any, Any, Info]:
        """Ten steps of 2 ms of all; those that had finished start anew instead."""
        actions = np.asarray(actions, dtype=np.float64)
        before = self._numbers(self._q)[:, 0]
        fresh = self._roll(self._task.controls(actions), DOG_SUBSTEPS)
        rows = [self._task.result(x, q, a) for x, q, a in zip(before, self._numbers(self._q), actions, strict=True)]
        rewards, fallen, infos = zip(*rows, strict=True)
        rewards_, ended, late = self._finish(fresh, np.array(rewards), np.array(fallen, dtype=np.bool_))
        return self._observe(), rewards_, ended, late, {"speed": np.array([info["speed"] for info in infos])}


def _register() -> None:
    rows = [("ArmReach", 200), ("ClothFold", 200), ("Quadruped", 500)]
    for name, steps in rows:
        key = f"dalembert/{name}-v0"
        if key not in gymnasium.registry:
            gymnasium.register(
                key,
                entry_point=f"dalembert.gym:{name}",
                max_episode_steps=steps,
                vector_entry_point=f"dalembert.gym:{name}Vector",
            )


_register()
