"""Environments keep the promises of Gymnasium, and their tasks can be done."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

import dalembert.gym as dgym  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402


@pytest.mark.parametrize("name", ["ArmReach", "ClothFold", "Quadruped"])
def test_the_checker_of_gymnasium_is_content(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # It warns about spaces without bounds, which observations in SI units are.
        warnings.filterwarnings("ignore", message=".*(infinity|unbounded|inf).*")
        warnings.filterwarnings("ignore", message=".*not (having|within) .*spec.*|.*env_spec.*|.*spec.*")
        check_env(getattr(dgym, name)(render_mode="rgb_array"), skip_render_check=False)


@pytest.mark.parametrize("name", ["ArmReach", "ClothFold", "Quadruped"])
def test_the_same_seed_gives_the_same_episode(name: str) -> None:
    def episode() -> list[np.ndarray]:
        env = gymnasium.make(f"dalembert/{name}-v0")
        observations = [env.reset(seed=5)[0]]
        env.action_space.seed(5)
        for _ in range(10):
            observations.append(env.step(env.action_space.sample())[0])
        return observations

    assert all(np.array_equal(a, b) for a, b in zip(episode(), episode(), strict=True))


def test_the_arm_can_reach() -> None:
    env = dgym.ArmReach()
    robot = env.simulation.robot("arm")
    reached = 0
    for seed in range(3):
        observation, _ = env.reset(seed=seed)
        for _ in range(200):
            # The transposed Jacobian, damped, leads the grip to the target.
            jacobian = robot.jacobian("grip")[:3, :7]
            way = observation[-3:]
            turn = jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + 0.01 * np.eye(3), way)
            observation, _, done, _, _ = env.step(np.clip(0.3 * turn / 0.1, -1, 1))
            if done:
                reached += 1
                break
    assert reached == 3


def test_the_napkin_can_be_folded() -> None:
    env = dgym.ClothFold()
    env.reset(seed=1)
    first = best = env.step(np.zeros(3))[4]["distance"]
    for k in range(100):
        # Up and over in a half circle of 30 cm.
        angle = np.pi * min(k, 75) / 75
        action = np.array([-np.sin(angle), 0, np.cos(angle)]) * 1.25 if k < 75 else np.array([0, 0, -0.5])
        _, _, done, _, info = env.step(action)
        best = min(best, info["distance"])
        if done:
            break
    assert first == pytest.approx(0.3, abs=0.01)
    assert best < 0.08
    assert np.all(env.simulation.points("napkin").x[:, 2] > -0.005)


def test_the_quadruped_stands_on_its_feet() -> None:
    env = dgym.Quadruped()
    env.reset(seed=3)
    for _ in range(100):
        observation, _, fallen, _, info = env.step(np.zeros(12))
        assert not fallen
    assert observation[2] == pytest.approx(0.3, abs=0.04)
    assert info["upright"] > 0.98
    weight = env.simulation.robot("dog").model.mass * 9.81
    dog = env.simulation.robot("dog")
    carried = dog.tau[2]  # Force on the free joint along z.
    assert carried == pytest.approx(weight, rel=0.05)


def test_a_vector_of_arms_moves_like_single_arms() -> None:
    many = dgym.ArmReachVector(4)
    observations, _ = many.reset(seed=2)
    assert observations.shape == (4, 20)
    single = dgym.ArmReach()
    single.reset(seed=0)
    single._target = many._targets[1].copy()
    rng = np.random.default_rng(0)
    for _ in range(5):
        actions = rng.uniform(-1, 1, (4, 7))
        observations, rewards, done, late, _ = many.step(actions)
        one, reward, *_ = single.step(actions[1])
        assert np.array_equal(observations[1], one)
        assert rewards[1] == pytest.approx(reward)
    assert many.observation_space.contains(observations)


def test_finished_arms_start_anew() -> None:
    many = dgym.ArmReachVector(2, max_episode_steps=3)
    start, _ = many.reset(seed=2)
    for _ in range(3):
        _, _, _, late, _ = many.step(np.ones((2, 7)))
    assert late.all()
    observations, rewards, done, late, _ = many.step(np.ones((2, 7)))
    assert not late.any() and not rewards.any()
    assert np.allclose(observations[:, :14], start[:, :14])
    made = gymnasium.make_vec("dalembert/ArmReach-v0", num_envs=3, vectorization_mode="vector_entry_point")
    assert made.reset(seed=1)[0].shape == (3, 20)
