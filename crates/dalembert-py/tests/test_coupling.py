"""Articulations driven from Python, and by MuJoCo."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da


def chain(n: int) -> da.Scene:
    """Hinges and sliders in turn, without surfaces."""
    scene = da.Scene(method="ipc", dt=0.01, ipc={"tolerance": 1e-9})
    for k in range(n):
        x = 0.2 * k
        scene.add_rigid(f"link{k}", mass=0.7, inertia=[0.01, 0.01, 0.01], position=(x + 0.1, 0, 0))
        kind = "slider" if k % 3 == 2 else "hinge"
        axis = [(0, 1, 0), (0, 0, 1), (0.6, 0, 0.8)][k % 3]
        parent = "world" if k == 0 else f"link{k - 1}"
        scene.add_joint(f"j{k}", kind=kind, between=[parent, f"link{k}"], anchor=(x, 0, 0), axis=axis)  # type: ignore[arg-type]
    scene.add_articulation("arm", [f"j{k}" for k in range(n)])
    return scene


@pytest.mark.parametrize("n", [1, 3, 7])
def test_without_contact_the_freedoms_go_where_they_are_told(n: int) -> None:
    sim = chain(n).build()
    arm, rng = sim.articulation("arm"), np.random.default_rng(n)
    assert (arm.freedoms, len(arm.links), arm.external) == (n, n, True)
    total = np.zeros(n)
    for _ in range(10):
        a = rng.uniform(-1, 1, (n, n))
        delta = rng.uniform(-0.05, 0.3, n) * np.where(np.arange(n) % 3 == 2, 0.1, 1)
        arm.drive(a @ a.T + 0.3 * np.eye(n), delta)
        sim.step()
        assert arm.delta == pytest.approx(delta, abs=1e-9)
        assert arm.force == pytest.approx(np.zeros(n), abs=1e-3)
        total += delta
    for k in range(n):
        part = "position" if k % 3 == 2 else "angle"
        assert sim.quantity(f"j{k}.{part}") == pytest.approx(total[k], abs=1e-8)


def test_a_driver_is_asked_before_every_step_and_may_fail() -> None:
    sim = chain(1).build()
    arm = sim.articulation("arm")
    calls = 0

    def driver(simulation: da.Simulation) -> tuple[Any, ...]:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise RuntimeError("no more")
        return [[2.0]], [0.7], arm.dofs

    arm.drive_by(driver)
    sim.step(2)
    # A turn of +0.7 rad reads +0.7.
    assert sim.quantity("j0.angle") == pytest.approx(1.4, abs=1e-8)
    before = sim.q.copy()
    with pytest.raises(RuntimeError, match="no more"):
        sim.step()
    assert np.array_equal(sim.q, before)


@pytest.mark.parametrize(
    ("mass", "delta", "message"),
    [
        ([[1, 0.5], [0, 1]], [0, 0], "not symmetric"),
        ([[1, 2], [2, 1]], [0, 0], "not positive definite"),
        ([[1, 0], [0, 1]], [0], "has 1 numbers; it needs 2"),
        ([[1]], [0, 0], "has 1 numbers; it needs 4"),
        ([[1, 0], [0, 1]], [np.nan, 0], "must be finite"),
        ([[1, np.inf], [np.inf, 1]], [0, 0], "must be finite"),
        ([[0, 0], [0, 0]], [0, 0], "not positive definite"),
    ],
)
def test_bad_drives_are_told(mass: Any, delta: Any, message: str) -> None:
    sim = chain(2).build()
    with pytest.raises(ValueError, match=message):
        sim.articulation("arm").drive(mass, delta)


@pytest.mark.parametrize(
    ("mass", "delta", "reference"),
    [
        ([1, 0, 0, 1], [0, 0], None),
        (np.eye(2), [[0, 0]], None),
        (np.eye(2)[None], [0, 0], None),
        ([["a", "b"], ["c", "d"]], [0, 0], None),
        (np.eye(2) + 1j * np.eye(2), [0, 0], None),
        (np.eye(2), None, None),
        (np.eye(2), ["x", "y"], None),
        (np.eye(2), [0, 0], np.zeros(24)),
        (np.eye(2), [0, 0], "links"),
    ],
)
def test_wrong_shapes_and_types_are_told_and_change_nothing(mass: Any, delta: Any, reference: Any) -> None:
    sim = chain(2).build()
    arm = sim.articulation("arm")
    arm.drive(np.eye(2), [0.1, 0.2])
    with pytest.raises((TypeError, ValueError)):
        arm.drive(mass, delta, reference)
    # What was given before still holds; whole numbers and single precision are numbers too.
    sim.step()
    assert arm.delta == pytest.approx((0.1, 0.2), abs=1e-9)
    arm.drive(np.eye(2, dtype=np.int64), np.array([0.1, 0.2], dtype=np.float32))
    sim.step()


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        ((np.eye(2), [np.nan, 0]), ValueError, "must be finite"),
        (([[1, 2], [2, 1]], [0, 0]), ValueError, "not positive definite"),
        (([[1, 0.5], [0, 1]], [0, 0]), ValueError, "not symmetric"),
        ((np.eye(3), [0, 0]), ValueError, "it needs 4"),
        ("nothing", TypeError, "."),
        (None, TypeError, "."),
        ((np.eye(2),), TypeError, "delta"),
    ],
)
def test_nonsense_from_a_driver_is_told_and_the_state_stays(answer: Any, error: type[Exception], message: str) -> None:
    sim = chain(2).build()
    arm = sim.articulation("arm")
    good = True
    arm.drive_by(lambda simulation: (np.eye(2), [0.1, 0.2]) if good else answer)
    sim.step(2)
    before, time, good = sim.q.copy(), sim.time, False
    with pytest.raises(error, match=message):
        sim.step()
    assert np.array_equal(sim.q, before) and sim.time == time
    good = True
    sim.step()
    assert sim.time > time


def test_a_joint_of_another_kind_is_named() -> None:
    scene = da.Scene(method="ipc", dt=0.01)
    scene.add_rigid("link", mass=1, inertia=[0.01, 0.01, 0.01], position=(0.1, 0, 0))
    scene.add_joint("cross", kind="universal", between=["world", "link"], anchor=(0, 0, 0), axis=(1, 0, 0), axis2=(0, 1, 0))
    scene.add_articulation("arm", ["cross"])
    with pytest.raises(da.SceneError, match="`cross` is a `universal`"):
        scene.build()


def test_articulations_of_other_methods_and_simulations_are_told() -> None:
    sim = chain(2).build()
    arm = sim.articulation("arm")
    # An articulation keeps its simulation alive, and only that one is driven by it.
    other = chain(2).build()
    arm.drive(np.eye(2), [0.1, 0.2])
    with pytest.raises(da.StepError, match="`arm` has no drive"):
        other.step()
    del sim, other
    arm.drive(np.eye(2), [0.3, 0.2])
    arm._simulation.step()
    assert arm.delta == pytest.approx((0.3, 0.2), abs=1e-9)
    with pytest.raises(KeyError, match="no articulation"):
        da.load(Path(__file__).resolve().parents[3] / "scenes" / "hello.toml").articulation("arm")


def test_threads_that_drive_and_step_at_once_do_not_crash() -> None:
    sim = chain(6).build()
    arm = sim.articulation("arm")
    arm.drive(np.eye(6), np.full(6, 1e-3))
    told: list[BaseException] = []

    def work(k: int) -> None:
        for _ in range(40):
            try:
                if k % 2:
                    arm.drive((1 + k) * np.eye(6), np.full(6, 1e-3 * k))
                else:
                    sim.step()
                _ = arm.dofs
            except da.BusyError as error:
                told.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    assert np.all(np.isfinite(sim.q))
    sim.step()


def test_drives_that_are_missing_are_told() -> None:
    sim = chain(2).build()
    with pytest.raises(da.StepError, match="`arm` has no drive"):
        sim.step()
    with pytest.raises(KeyError, match="`arm`"):
        sim.articulation("leg")
    with pytest.raises(da.Error, match="no step yet"):
        _ = sim.articulation("arm").delta
    with pytest.raises(ValueError, match="rotation"):
        sim.articulation("arm").drive(np.eye(2), [0, 0], np.zeros((2, 12)))


def test_a_driven_link_pushes_a_box_and_feels_it() -> None:
    scene = da.Scene(method="ipc", dt=0.01, gravity=(0, 0, 0), ipc={"gap": 1e-3})
    scene.add_rigid("hand", shape={"box": [0.1, 0.1, 0.1]}, mass=1, position=(0, 0, 0))
    scene.add_joint("rail", kind="slider", between=["world", "hand"], anchor=(0, 0, 0), axis=(1, 0, 0))
    scene.add_articulation("pusher", ["rail"])
    scene.add_rigid("box", shape={"box": [0.1, 0.1, 0.1]}, mass=2, position=(0.102, 0, 0))
    sim = scene.build()
    hand = sim.articulation("pusher")
    # Mass 3 kg, pushed by 5 N, stepped implicitly outside.
    v = 0.0
    for _ in range(50):
        v += 0.01 * 5 / 3
        hand.drive([[3.0]], [0.01 * v])
        sim.step()
        v = float(hand.delta[0]) / 0.01
    # 5 N on 3 kg + 2 kg for 0.5 s.
    assert v == pytest.approx(0.5, rel=0.05)
    assert hand.force[0] == pytest.approx(hand.wrenches[0, 0], rel=1e-2)
    assert hand.force[0] == pytest.approx(-2.0, rel=0.1)


# ---------------------------------------------------------------------------------------- MuJoCo

ARM = """
<mujoco><option timestep="0.01" integrator="implicitfast"/>
  <worldbody>
    <body name="upper" pos="0 0 1"><joint name="shoulder" axis="0 1 0" damping="0.3"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="1"/>
      <body name="fore" pos="0.3 0 0"><joint name="elbow" axis="0 1 0" damping="0.2"/>
        <geom type="capsule" fromto="0 0 0 0.25 0 0" size="0.025" mass="0.7"/>
        <body name="tool" pos="0.25 0 0"><joint name="out" type="slide" axis="1 0 0" damping="4" range="-0.1 0.1"/>
          <geom type="sphere" size="0.04" mass="0.2"/></body>
      </body></body></worldbody>
  <actuator><position joint="shoulder" kp="40" kv="6"/><position joint="elbow" kp="30" kv="4"/><position joint="out" kp="100" kv="10"/></actuator>
</mujoco>"""

FLYER = """
<mujoco><option timestep="0.01"/>
  <worldbody><body name="trunk" pos="0 0 2"><freejoint/><geom type="box" size="0.2 0.1 0.05" mass="3"/>
    <body name="leg" pos="0.2 0 0"><joint name="hip" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.5"/></body></body></worldbody>
</mujoco>"""


SEVERAL = """
<mujoco><option timestep="0.01" integrator="implicitfast"/>
  <worldbody>
    <body name="upper" pos="0 0 1" euler="20 0 30">
      <joint name="turn" axis="0 0 1" pos="0 0.02 0.1" damping="0.3"/>
      <joint name="lift" axis="0 1 0" pos="0.05 0 0" damping="0.3"/>
      <joint name="slide" type="slide" axis="1 0 0.2" stiffness="200" damping="6"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="1"/>
      <body name="fore" pos="0.3 0 0">
        <joint name="reach" type="slide" axis="0 0 1" ref="0.1" stiffness="100" damping="5"/>
        <joint name="wrist" type="ball" pos="-0.02 0 0" damping="0.1"/>
        <geom type="box" size="0.05 0.02 0.01" pos="0.08 0 0" mass="0.3"/></body>
    </body></worldbody>
  <actuator><motor joint="turn"/><motor joint="lift" gear="8"/><motor joint="reach" gear="20"/></actuator>
</mujoco>"""


@pytest.mark.parametrize("text", [ARM, FLYER, SEVERAL], ids=["arm", "floating base", "several joints of one body"])
def test_free_motion_is_that_of_mujoco(text: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    bridge = pytest.importorskip("dalembert.mujoco")
    model = mujoco.MjModel.from_xml_string(text)
    alone, data = mujoco.MjData(model), mujoco.MjData(model)
    if model.nu == 0:
        for d in (alone, data):
            d.qvel[:] = (0.3, 0, 1, 0.5, 1.0, 0.2, 2.0)
    scene = da.Scene(method="ipc", dt=0.01, ipc={"tolerance": 1e-9})
    robot = bridge.add_robot(scene, model, data, name="arm")
    sim = scene.build()
    for k in range(100):
        for d in (alone, data):
            if model.nu:
                d.ctrl[:] = (0.5 * np.sin(0.05 * k), -0.4, 0.05)
        mujoco.mj_step(model, alone)
        robot.step(sim)
        assert data.qpos == pytest.approx(alone.qpos, abs=1e-6)
    # The links here stand where MuJoCo has them.
    dofs = sim.articulation("arm").dofs
    assert dofs == pytest.approx(robot.reference(), abs=1e-6)
    assert data.time == pytest.approx(1.0)


def test_an_arm_of_mujoco_stops_at_a_wall_and_feels_it() -> None:
    mujoco = pytest.importorskip("mujoco")
    bridge = pytest.importorskip("dalembert.mujoco")
    model = mujoco.MjModel.from_xml_string(ARM)
    data = mujoco.MjData(model)
    scene = da.Scene(method="ipc", dt=0.01, ipc={"gap": 1e-3})
    robot = bridge.add_robot(scene, model, data, name="arm")
    # The tool comes down onto a plane at z = 0.8.
    scene.add_ground("table", point=(0, 0, 0.8))
    sim = scene.build()
    for k in range(200):
        data.ctrl[:] = (min(0.9, 0.01 * k), 0, 0)
        report = robot.step(sim)
        assert data.geom_xpos[2, 2] > 0.84
    assert report.contacts > 0
    arm = sim.articulation("arm")
    # Contact pushes the tool up; M(δθ − δθ̃)/h² is that force seen by the joints.
    seen = np.zeros(model.nv)
    for link, wrench in zip(arm.links, arm.wrenches, strict=True):
        jacobian = np.zeros((6, model.nv))
        mujoco.mj_jacBodyCom(model, data, jacobian[:3], jacobian[3:], model.body(link.removeprefix("arm-")).id)
        seen += jacobian.T @ wrench
    assert arm.wrenches[arm.links.index("arm-tool"), 2] > 1
    assert arm.force == pytest.approx(seen, rel=0.01, abs=0.01)


# A servo on a beam of 0.5 kg without weight, whose force is limited: by the actuator, or by the joint.
BEAM = """
<mujoco><option timestep="0.01" integrator="{integrator}" gravity="0 0 0"/>
  <worldbody><body name="beam"><joint name="pivot" axis="0 1 0" {joint}/>
    <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.03" mass="0.5"/></body></worldbody>
  <actuator><position joint="pivot" kp="4500" kv="{kv}" {actuator}/></actuator>
</mujoco>"""


@pytest.mark.parametrize("kv", [20, 450])
@pytest.mark.parametrize("limited", [("", 'forcerange="-87 87"'), ('actuatorfrcrange="-87 87"', "")], ids=["actuator", "joint"])
@pytest.mark.parametrize("integrator", ["implicitfast", "implicit"])
def test_a_motor_never_pushes_harder_than_its_limit(integrator: str, limited: tuple[str, str], kv: float) -> None:
    mujoco = pytest.importorskip("mujoco")
    bridge = pytest.importorskip("dalembert.mujoco")
    text = BEAM.format(integrator=integrator, kv=kv, joint=limited[0], actuator=limited[1])
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    scene = da.Scene(method="ipc", dt=0.01, gravity=(0, 0, 0), ipc={"gap": 1e-3})
    robot = bridge.add_robot(scene, model, data, name="arm")
    # The beam turns down about y onto a table 0.1 m below its middle.
    scene.add_ground("table", point=(0, 0, -0.1))
    sim = scene.build()
    arm = sim.articulation("arm")
    mujoco.mj_forward(model, data)
    inertia = float(data.M[0])
    motor, target = [], 0.0
    for k in range(90):
        # It moves down within the limit first, meets the table in full motion, and is then pressed on with all force.
        target = target + 0.004 if k < 60 else 1.0
        data.ctrl[0] = target
        before = float(data.qvel[0])
        robot.step(sim)
        # I Δω / h is the motor's torque and that of contact.
        motor.append(inertia * (float(data.qvel[0]) - before) / 0.01 - float(arm.force[0]))
    assert np.abs(motor).max() < 87 * (1 + 1e-6), f"{np.abs(motor).max()} N·m"
    # It gives its all where it is asked to, and the table bears that and no more.
    force, torque = arm.wrenches[0, :3], arm.wrenches[0, 3:]
    assert (np.cross(data.xipos[1] - data.xanchor[0], force) + torque)[1] == pytest.approx(-87, rel=1e-3)
    assert motor[-1] == pytest.approx(87, rel=1e-3)


def test_steps_of_both_engines_must_agree() -> None:
    mujoco = pytest.importorskip("mujoco")
    bridge = pytest.importorskip("dalembert.mujoco")
    model = mujoco.MjModel.from_xml_string(ARM)
    scene = da.Scene(method="ipc", dt=0.02)
    robot = bridge.add_robot(scene, model, mujoco.MjData(model))
    with pytest.raises(da.Error, match="must be the same"):
        robot.step(scene.build())


def test_models_that_do_not_belong_together_are_told() -> None:
    mujoco = pytest.importorskip("mujoco")
    bridge = pytest.importorskip("dalembert.mujoco")
    arm, flyer = mujoco.MjModel.from_xml_string(ARM), mujoco.MjModel.from_xml_string(FLYER)
    scene = da.Scene(method="ipc", dt=0.01)
    with pytest.raises(da.Error, match="belongs to another model"):
        bridge.add_robot(scene, arm, mujoco.MjData(flyer))
    robot = bridge.add_robot(scene, arm, mujoco.MjData(arm), name="arm")
    other = da.Scene(method="ipc", dt=0.01)
    bridge.add_robot(other, flyer, mujoco.MjData(flyer), name="arm")
    with pytest.raises(da.Error, match="another robot"):
        robot.step(other.build())
    sim = scene.build()
    robot.data = mujoco.MjData(flyer)
    with pytest.raises(da.Error, match="belongs to another model"):
        robot.step(sim)


def test_robots_of_a_scene_run_under_ipc(scenes: Path) -> None:
    scene = da.Scene(method="ipc", dt=0.005)
    scene.add_robot("arm", text=da.examples()["robots/arm.xml"])
    sim = scene.build()
    sim.robot("arm").control["joint1"] = 0.4
    sim.step(20)
    assert sim.robot("arm").q["joint1"] > 0.01
    assert not sim.articulation("arm").external
