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
    dog = env.simulation.robot("dog")
    for foot in ("FL_foot", "FR_foot", "HL_foot", "HR_foot"):
        # Balls of 22 mm on the floor.
        assert dog.position(foot)[2] == pytest.approx(0.022, abs=1e-3)
    assert np.abs(np.asarray(dog.v)).max() < 0.05
    # The floor carries the weight.
    lift = env.simulation.contacts.forces.sum(axis=0)
    assert abs(lift[2]) == pytest.approx(dog.model.mass * 9.81, rel=0.02)


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


def test_a_vector_of_quadrupeds_moves_like_single_ones() -> None:
    many, single = dgym.QuadrupedVector(3), dgym.Quadruped()
    start, _ = many.reset(seed=2)
    single.reset(seed=0)
    single.simulation.state = many._states[1]
    rng = np.random.default_rng(0)
    for _ in range(10):
        actions = rng.uniform(-1, 1, (3, 12))
        observations, rewards, done, late, info = many.step(actions)
        one, reward, *_ = single.step(actions[1])
        # Contacts go from one batch to the next, so that the bits are those of one run.
        assert np.array_equal(observations[1], one)
        assert rewards[1] == pytest.approx(reward)
    assert many.observation_space.contains(observations)


def test_a_vector_of_napkins_folds() -> None:
    many = dgym.ClothFoldVector(3, threads=2, max_episode_steps=4)
    start, _ = many.reset(seed=2)
    single = dgym.ClothFold()
    single.reset(seed=0)
    single.simulation.state = many._envs[1].simulation.state.copy()
    single._hand = many._envs[1]._hand.copy()
    for _ in range(4):
        observations, rewards, done, late, _ = many.step(np.tile((-0.4, 0, 1.0), (3, 1)))
        one, reward, *_ = single.step(np.array((-0.4, 0, 1.0)))
        assert np.array_equal(observations[1], one) and rewards[1] == reward
    assert late.all()
    observations, rewards, done, late, _ = many.step(np.zeros((3, 3)))
    assert not late.any() and not rewards.any()
    many.close()


@pytest.mark.parametrize("name", ["ArmReach", "ClothFold", "Quadruped"])
def test_vectors_are_made_by_name(name: str) -> None:
    made = gymnasium.make_vec(f"dalembert/{name}-v0", num_envs=2, vectorization_mode="vector_entry_point")
    observations, _ = made.reset(seed=1)
    assert made.observation_space.contains(observations)
    made.action_space.seed(1)
    assert made.step(made.action_space.sample())[0].shape == observations.shape
    made.close()


def test_finished_arms_start_anew() -> None:
    many = dgym.ArmReachVector(2, max_episode_steps=3)
    start, _ = many.reset(seed=2)
    for _ in range(3):
        _, _, _, late, _ = many.step(np.ones((2, 7)))
    assert late.all()
    observations, rewards, done, late, _ = many.step(np.ones((2, 7)))
    assert not late.any() and not rewards.any()
    assert np.allclose(observations[:, :14], start[:, :14])
