"""Gymnasium environments: an arm that reaches, a cloth to fold, a quadruped to walk.

Importing this module registers `dalembert/ArmReach-v0`, `dalembert/ClothFold-v0` and `dalembert/Quadruped-v0`:

>>> import gymnasium, dalembert.gym  # doctest: +SKIP
>>> env = gymnasium.make("dalembert/ArmReach-v0")  # doctest: +SKIP

`ArmReachVector` steps a whole batch of arms on all threads.
"""

from __future__ import annotations

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


class ArmReachVector(VectorEnv[Any, Any, Any]):
    """Many arms that reach, stepped as one batch on all threads. As `ArmReach`; finished ones start anew in the next step."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}

    def __init__(self, num_envs: int = 16, *, threads: int | None = None, max_episode_steps: int = 200) -> None:
        self.num_envs = num_envs
        self.render_mode = None
        self.single_action_space = _box(1.0, ARM_JOINTS)
        self.single_observation_space = _box(np.inf, 2 * ARM_JOINTS + 6)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        simulation = arm_scene().build()
        self.model = simulation.model
        self._task = _ArmTask(simulation)
        self._threads, self._limit = threads, max_episode_steps
        self._start = State(self.model).packed
        first = self.model.layout["packed_robots"]
        q, v, _, control, *_ = self._task.robot.places
        self._q, self._v, self._c = (slice(first + a, first + b) for a, b in (q, v, control))
        self._packed = np.tile(self._start, (num_envs, 1))
        self._targets = np.zeros((num_envs, 3))
        self._age = np.zeros(num_envs, dtype=np.int64)
        self._done = np.zeros(num_envs, dtype=np.bool_)

    def _renew(self, rows: npt.NDArray[np.bool_]) -> None:
        for i in np.flatnonzero(rows):
            self._packed[i] = self._start
            self._targets[i] = self._task.target(self.np_random)
        self._age[rows] = 0
        self._done[rows] = False

    def _observe(self) -> Array:
        rows = zip(self._packed[:, self._q], self._packed[:, self._v], self._targets, strict=True)
        return np.stack([self._task.observation(*row) for row in rows])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, Info]:
        """All arms to the home configuration with new targets."""
        super().reset(seed=seed)
        self._renew(np.ones(self.num_envs, dtype=np.bool_))
        return self._observe(), {}

    def step(self, actions: Array) -> tuple[Any, Any, Any, Any, Info]:
        """Ten steps of 2 ms of all arms; those that had finished start anew instead."""
        fresh = self._done.copy()
        controls = self._task.controls(self._packed[:, self._c], np.asarray(actions, dtype=np.float64))
        batch = np.repeat(controls[:, None, :], ARM_SUBSTEPS, axis=1)
        result = rollout(self.model, self._packed, batch, every=ARM_SUBSTEPS, threads=self._threads)
        self._packed = result.packed[:, -1].copy()
        self._age += 1
        self._renew(fresh)
        observations = self._observe()
        distances = np.linalg.norm(observations[:, -3:], axis=1)
        reached = (distances < ARM_NEAR) & ~fresh
        late = (self._age >= self._limit) & ~fresh
        effort = 1e-3 * np.sum(np.square(actions), axis=1)
        rewards = np.where(fresh, 0.0, -distances - effort + reached)
        self._done = reached | late
        return observations, rewards, reached, late, {"distance": distances}


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


# ------------------------------------------------------------------------------------- quadruped

FEET = ("FL_foot", "FR_foot", "HL_foot", "HR_foot")
FOOT_RADIUS = 0.022


def quadruped_scene() -> Scene:
    """The quadruped of the package, standing."""
    scene = Scene(title="Quadruped", method="impulse", dt=0.002)
    scene.add_robot("dog", text=examples()["robots/quadruped.xml"])
    return scene


def ground_forces(simulation: Simulation) -> None:
    """Feet on the plane z = 0: a spring and a damper upwards, viscous friction bounded by Coulomb's cone, μ = 0.8."""
    dog = simulation.robot("dog")
    tau = np.zeros(dog.model.nv)
    for foot in FEET:
        depth = FOOT_RADIUS - dog.position(foot)[2]
        if depth > 0:
            jacobian = dog.jacobian(foot)[:3]
            velocity = jacobian @ np.asarray(dog.v)
            normal = max(0.0, 6000.0 * depth - 80.0 * velocity[2])
            slip = np.array([velocity[0], velocity[1], 0.0])
            friction = -60.0 * slip
            size = float(np.linalg.norm(friction))
            if size > 0.8 * normal:
                friction *= 0.8 * normal / size
            tau += jacobian.T @ (friction + np.array([0.0, 0.0, normal]))
    dog.tau[:] = tau


class Quadruped(_Env):
    """A four-legged robot of 15 kg walks along x.

    Action (12,): joint targets around the stance, ±1 is ±0.5 rad, every 20 ms. Observation (37,): place and quaternion
    (w, x, y, z) of the trunk, joint angles [rad], velocities [m/s, rad/s]. Reward: forward speed [m/s] and 1 for standing,
    less a little of the action. Ends when the trunk is lower than 15 cm or on its side.
    """

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(quadruped_scene(), render_mode)
        dog = self.simulation.robot("dog")
        self._stance = dog.model.keyframe("stand")[2]
        self.action_space = _box(1.0, dog.model.nu)
        self.observation_space = _box(np.inf, dog.model.nq + dog.model.nv)
        self.simulation.add_controller(ground_forces)

    def _observe(self) -> Array:
        dog = self.simulation.robot("dog")
        return np.concatenate([np.asarray(dog.q), np.asarray(dog.v)])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, Info]:
        """Standing, joints a little off."""
        super().reset(seed=seed)
        self.simulation.reset()
        dog = self.simulation.robot("dog")
        dog.q[7:] += self.np_random.uniform(-0.05, 0.05, dog.model.nq - 7)
        dog.control[:] = self._stance
        return self._observe(), {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, Info]:
        """Ten steps of 2 ms."""
        dog = self.simulation.robot("dog")
        dog.control[:] = self._stance + 0.5 * np.clip(np.asarray(action, dtype=np.float64), -1, 1)
        before = float(dog.q[0])
        self.simulation.step(10)
        speed = (float(dog.q[0]) - before) / 0.02
        w, x, y, z = (float(c) for c in dog.q[3:7])
        upright = 1 - 2 * (x * x + y * y)
        fallen = float(dog.q[2]) < 0.15 or upright < 0.3
        reward = speed + 1.0 - 0.01 * float(np.sum(np.square(action)))
        return self._observe(), reward, bool(fallen), False, {"speed": speed, "upright": upright}


def _register() -> None:
    rows = [("ArmReach", 200), ("ClothFold", 200), ("Quadruped", 500)]
    for name, steps in rows:
        key = f"dalembert/{name}-v0"
        if key not in gymnasium.registry:
            vector = "dalembert.gym:ArmReachVector" if name == "ArmReach" else None
            gymnasium.register(
                key, entry_point=f"dalembert.gym:{name}", max_episode_steps=steps, vector_entry_point=vector
            )


_register()
