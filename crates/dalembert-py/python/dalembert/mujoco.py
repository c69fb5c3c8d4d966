"""A robot whose dynamics MuJoCo computes moves links inside an `ipc` scene, both ways.

>>> import mujoco, dalembert as da, dalembert.mujoco as bridge  # doctest: +SKIP
>>> model = mujoco.MjModel.from_xml_path("arm.xml")  # doctest: +SKIP
>>> scene = da.Scene(method="ipc", dt=model.opt.timestep)  # doctest: +SKIP
>>> arm = bridge.add_robot(scene, model, mujoco.MjData(model), name="arm")  # doctest: +SKIP
>>> sim = scene.build()  # doctest: +SKIP
>>> for _ in range(100):  # doctest: +SKIP
...     arm.data.ctrl[:] = ...
...     arm.step(sim)

Every step: MuJoCo steps a copy without contact, which gives the increments δθ̃ that the joints would make; its mass matrix
with implicit damping drives the links here, counted from where MuJoCo has them; what came out goes back to `qpos` and `qvel`.

An actuator at a limit of its force pushes with that limit however the joint moves: ∂f/∂q = ∂f/∂v = 0 there, so it has no
part in the mass. Where contact changes a velocity so much within a step that the linear law f − g Δv of a velocity gain g
would pass the limit, the step is taken anew with that actuator held at its limit.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

try:
    import mujoco
except ImportError as error:  # pragma: no cover
    raise ImportError("dalembert.mujoco needs MuJoCo: pip install 'dalembert[mujoco]'") from error

from ._native import Error
from ._scene import Scene
from ._simulation import Simulation

Array: TypeAlias = npt.NDArray[np.float64]
GEOM = mujoco.mjtGeom
JOINT = mujoco.mjtJoint
IMPLICIT = (mujoco.mjtIntegrator.mjINT_IMPLICIT, mujoco.mjtIntegrator.mjINT_IMPLICITFAST)


class MujocoRobot:
    """A robot of MuJoCo inside a scene: made by `add_robot`."""

    def __init__(self, model: Any, data: Any, name: str, links: dict[str, tuple[int, int]]) -> None:
        self.model = model
        """The `mjModel`."""
        self.data = data
        """The `mjData`: its controls and forces are yours; `qpos`, `qvel` and `time` follow the scene."""
        self.name = name
        self._links = links
        self._ahead = mujoco.MjData(model)
        self._order = list(links)
        # Limits [N or N·m] at which (joints: True, actuators: False; number) push in this step, whatever their velocity.
        self._held: dict[tuple[bool, int], float] = {}

    def mass(self) -> Array:
        """Effective mass at the state of `data`, shape (nv, nv), once `increments` were asked for: M + h B with the dampers
        and velocity gains that the integrator of the model takes at the end of the step, and D of the rows of loops and of
        limits that are met."""
        m, ahead, h = self.model, self._ahead, float(self.model.opt.timestep)
        full = np.zeros((m.nv, m.nv))
        mujoco.mj_fullM(m, ahead, full)
        kind, flags = mujoco.mjtIntegrator(m.opt.integrator), int(m.opt.disableflags)
        implicit = kind in IMPLICIT
        euler = kind == mujoco.mjtIntegrator.mjINT_EULER and not flags & int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
        if implicit or euler:
            damping = np.array(m.dof_damping, dtype=np.float64).reshape(m.nv, -1)[:, 0]
            full[np.diag_indices(m.nv)] += h * damping
        if implicit:
            full += h * self._gains()[0]
        # The convex program of MuJoCo is quadratic with stiffness D in the rows of loops and of limits that are met.
        rows = np.asarray(ahead.efc_state) == int(mujoco.mjtConstraintState.mjCNSTRSTATE_QUADRATIC)
        if rows.any():
            sparse = len(ahead.efc_J) != ahead.nefc * m.nv
            jacobian = (
                _rows(ahead.efc_J, ahead.efc_J_rownnz, ahead.efc_J_rowadr, ahead.efc_J_colind, m.nv)
                if sparse
                else np.asarray(ahead.efc_J).reshape(ahead.nefc, m.nv)
            )[rows]
            full += jacobian.T @ (np.asarray(ahead.efc_D)[rows, None] * jacobian)
        return np.asarray(0.5 * (full + full.T))

    def _gains(self) -> tuple[Array, Array]:
        """Stiffness of the actuators against velocity in the predicted step: −∂(force on the dofs)/∂v, shape (nv, nv), and
        −∂(force of each actuator)/∂v, shape (nu, nv). Zero for what is at a limit of its force."""
        m, d = self.model, self._ahead
        moment = _rows(d.actuator_moment, d.moment_rownnz, d.moment_rowadr, d.moment_colind, m.nv)
        gains = np.zeros(m.nu)
        if not int(m.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_ACTUATION):
            for a in range(m.nu):
                slope = float(m.actuator_biasprm[a, 2]) if m.actuator_biastype[a] == mujoco.mjtBias.mjBIAS_AFFINE else 0.0
                if m.actuator_gaintype[a] == mujoco.mjtGain.mjGAIN_AFFINE:
                    last = int(m.actuator_actadr[a]) + int(m.actuator_actnum[a]) - 1
                    signal = d.ctrl[a] if m.actuator_dyntype[a] == mujoco.mjtDyn.mjDYN_NONE else self.data.act[last]
                    slope += float(m.actuator_gainprm[a, 2]) * float(signal)
                group = int(m.actuator_group[a])
                switched_off = 0 <= group <= 30 and int(m.opt.disableactuator) >> group & 1
                free = not m.actuator_forcelimited[a] or _inside(float(d.actuator_force[a]), m.actuator_forcerange[a])
                gains[a] = max(0.0, -slope) if free and not switched_off else 0.0
        forces = gains[:, None] * moment
        dofs = moment.T @ forces
        for j, dof in self._limited_joints():
            if not _inside(float(d.qfrc_actuator[dof]), m.jnt_actfrcrange[j]):
                dofs[dof, :] = dofs[:, dof] = 0.0
        return dofs, forces

    def _limited_joints(self) -> list[tuple[int, int]]:
        """Joints that bound the sum of their actuators' forces, and their dofs."""
        return [(j, int(self.model.jnt_dofadr[j])) for j in range(self.model.njnt) if self.model.jnt_actfrclimited[j]]

    def _hold(self, delta: Array, done: Array) -> bool:
        """Holds at its limit what pushed harder in a step that went by `done` instead of `delta`; whether anything did.

        MuJoCo's own step is linear in the velocity too, and may pass a limit a little: that much is let pass here.
        """
        m, d, h = self.model, self._ahead, float(self.model.opt.timestep)
        if mujoco.mjtIntegrator(m.opt.integrator) not in IMPLICIT:
            return False
        on_dofs, of_actuators = self._gains()
        held = len(self._held)
        actuators = [(a, a) for a in range(m.nu) if m.actuator_forcelimited[a]]
        for joint, ranges, force, slopes, rows in (
            (False, m.actuator_forcerange, d.actuator_force, of_actuators, actuators),
            (True, m.jnt_actfrcrange, d.qfrc_actuator, on_dofs, self._limited_joints()),
        ):
            alone, now = (force - slopes @ (step / h - self.data.qvel) for step in (delta, done))
            for i, row in rows:
                low, high = (float(x) for x in ranges[i])
                slack = 1e-9 * (high - low)
                if now[row] > max(high, alone[row]) + slack:
                    self._held[joint, i] = high
                elif now[row] < min(low, alone[row]) - slack:
                    self._held[joint, i] = low
        return len(self._held) > held

    def increments(self) -> Array:
        """What the joints would do in a step without contact, shape (nv,) [rad or m]."""
        m, ahead = self.model, self._ahead
        mujoco.mj_copyData(ahead, m, self.data)
        flags, ranges = m.opt.disableflags, (m.actuator_forcerange.copy(), m.jnt_actfrcrange.copy())
        m.opt.disableflags = flags | int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        for (joint, i), force in self._held.items():
            (m.jnt_actfrcrange if joint else m.actuator_forcerange)[i] = force
        try:
            mujoco.mj_step(m, ahead)
        finally:
            m.opt.disableflags = flags
            m.actuator_forcerange[:], m.jnt_actfrcrange[:] = ranges
        delta = np.zeros(m.nv)
        mujoco.mj_differentiatePos(m, delta, 1.0, self.data.qpos, ahead.qpos)
        return delta

    def reference(self) -> Array:
        """Where MuJoCo has the links, shape (links, 12): origin [m], rows of the rotation."""
        rows = [np.zeros(9) for _ in self._order]
        poses = [_pose_after(self.model, self.data, *self._links[link]) for link in self._order]
        for row, (_, turn) in zip(rows, poses, strict=True):
            mujoco.mju_quat2Mat(row, turn)
        return np.stack([np.concatenate([place, row]) for row, (place, _) in zip(rows, poses, strict=True)])

    def step(self, simulation: Simulation) -> Any:
        """One step of both; returns the report of the scene's step. `data.qfrc_applied` is yours as always.

        Where contact would drive an actuator beyond the limit of its force, the scene's step is taken anew with that
        actuator at its limit, controllers of the scene included."""
        m, d, h = self.model, self.data, float(self.model.opt.timestep)
        if abs(simulation.dt - h) > 1e-12 * h:
            raise Error(f"MuJoCo steps by {h} s and the scene by {simulation.dt} s: they must be the same")
        _check(m, d)
        articulation = simulation.articulation(self.name)
        if articulation.freedoms != m.nv or any(link not in self._links for link in articulation.links):
            raise Error(f"the articulation `{self.name}` of this simulation is another robot")
        self._order = list(articulation.links)
        mujoco.mj_forward(m, d)
        before, reference = simulation.pack(), self.reference()
        self._held.clear()
        while True:
            delta = self.increments()
            articulation.drive(self.mass(), delta, reference)
            report = simulation.step()
            done = articulation.delta
            # Each round holds one more limit at least, so there are at most as many as there are limits.
            if not self._hold(delta, done):
                break
            simulation.unpack(before)
        mujoco.mj_integratePos(m, d.qpos, done, 1.0)
        d.qvel[:] = done / h
        d.act[:] = self._ahead.act
        d.time += h
        mujoco.mj_forward(m, d)
        return report


def _check(model: Any, data: Any) -> None:
    """Refuses data that were made for another model."""
    if (len(data.qpos), len(data.qvel), len(data.ctrl)) != (model.nq, model.nv, model.nu):
        raise Error(
            f"this `mjData` belongs to another model: it has {len(data.qpos)} coordinates, {len(data.qvel)} velocities and "
            f"{len(data.ctrl)} controls, not {model.nq}, {model.nv} and {model.nu}"
        )


def _inside(force: float, limits: Any) -> bool:
    """Whether a force lies between its limits, so that it may still follow the motion."""
    return bool(limits[0] < force < limits[1])


def _rows(values: Any, counts: Any, starts: Any, columns: Any, n: int) -> Array:
    """A matrix of MuJoCo whose rows are lists of entries, with n columns, as a full one."""
    full = np.zeros((len(counts), n))
    for i, (count, start) in enumerate(zip(counts, starts, strict=True)):
        full[i, columns[start : start + count]] = values[start : start + count]
    return full


def _label(model: Any, body: int) -> str:
    return str(model.body(body).name) or f"body{body}"


def _plain(name: str) -> str:
    """A name that scenes take."""
    return "".join(c if c.isalnum() or c in "_-" else "_" for c in name)


def _link(model: Any, body: int, robot: str) -> str:
    return _plain(f"{robot}-{_label(model, body)}")


def _pose_after(model: Any, data: Any, body: int, moved: int) -> tuple[Array, Array]:
    """Place and quaternion of a body's frame once `moved` of its joints have moved as in `data`; all of them: the body's own."""
    first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
    if moved == count:
        return np.array(data.xpos[body]), np.array(data.xquat[body])
    parent = int(model.body_parentid[body])
    place, turn = np.zeros(3), np.zeros(4)
    mujoco.mju_rotVecQuat(place, model.body_pos[body], data.xquat[parent])
    place += data.xpos[parent]
    mujoco.mju_mulQuat(turn, data.xquat[parent], model.body_quat[body])
    for j in range(first, first + moved):
        at = int(model.jnt_qposadr[j])
        kind, axis = JOINT(model.jnt_type[j]), model.jnt_axis[j]
        if kind == JOINT.mjJNT_SLIDE:
            along = np.zeros(3)
            mujoco.mju_rotVecQuat(along, axis, turn)
            place += along * (data.qpos[at] - model.qpos0[at])
            continue
        anchor, own, after, arm = np.zeros(3), np.zeros(4), np.zeros(4), np.zeros(3)
        mujoco.mju_rotVecQuat(anchor, model.jnt_pos[j], turn)
        anchor += place
        if kind == JOINT.mjJNT_BALL:
            own[:] = data.qpos[at : at + 4]
            mujoco.mju_normalize4(own)
        else:
            mujoco.mju_axisAngle2Quat(own, axis, data.qpos[at] - model.qpos0[at])
        mujoco.mju_mulQuat(after, turn, own)
        turn = after
        mujoco.mju_rotVecQuat(arm, model.jnt_pos[j], turn)
        place = anchor - arm
    return place, turn


def _shape(model: Any, g: int) -> dict[str, Any]:
    """The collision shape of a geom, in its own frame."""
    kind, (a, b, c) = model.geom_type[g], (float(x) for x in model.geom_size[g])
    if kind == GEOM.mjGEOM_SPHERE:
        return {"sphere": a}
    if kind == GEOM.mjGEOM_BOX:
        return {"box": [2 * a, 2 * b, 2 * c]}
    if kind == GEOM.mjGEOM_CAPSULE:
        return {"capsule": {"radius": a, "length": 2 * b}}
    if kind == GEOM.mjGEOM_CYLINDER:
        return {"cylinder": {"radius": a, "length": 2 * b}}
    if kind == GEOM.mjGEOM_ELLIPSOID:
        return {"ellipsoid": [a, b, c]}
    if kind == GEOM.mjGEOM_MESH:
        mesh = int(model.geom_dataid[g])
        v0, n = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
        f0, k = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
        vertices = np.asarray(model.mesh_vert[v0 : v0 + n], dtype=np.float64)
        triangles = np.asarray(model.mesh_face[f0 : f0 + k])
        graph = int(model.mesh_graphadr[mesh])
        if graph >= 0:
            # Meshes of MuJoCo collide as their hulls: numbers of vertices and faces, two lists of edges, the faces.
            nv, nf = (int(x) for x in model.mesh_graph[graph : graph + 2])
            first = graph + 2 + 3 * nv + 3 * nf
            faces = np.asarray(model.mesh_graph[first : first + 3 * nf]).reshape(nf, 3)
            used, flat = np.unique(faces, return_inverse=True)
            vertices, triangles = vertices[used], flat.reshape(nf, 3)
        return {"vertices": vertices, "triangles": triangles}
    raise Error(f"geom {g} of `{_label(model, int(model.geom_bodyid[g]))}` is of a kind that does not move: {kind}")


def add_robot(
    scene: Scene, model: Any, data: Any, *, name: str = "robot", shapes: bool = True
) -> MujocoRobot:
    """Adds the bodies and joints of an `mjModel` at the state of `data` to an `ipc` scene.

    Body `B` becomes `NAME-B`, joint `J` becomes `NAME-J`. Links of one robot do not touch each other; geoms of the world are
    left to the scene. Joints are hinge, slide, ball, or free at the root; a body with several has links without mass or shape
    between them, `NAME-B_1` after its first joint and so on.

    Args:
        scene: The scene; its `dt` must be the timestep of the model.
        model: `mujoco.MjModel`.
        data: `mujoco.MjData`.
        name: Name of the articulation.
        shapes: Whether geoms that can collide become shapes; otherwise nothing touches the robot.
    """
    _check(model, data)
    mujoco.mj_forward(model, data)
    links: dict[str, tuple[int, int]] = {}
    joints: list[str] = []
    welded: list[str] = []
    floating: str | None = None
    for b in range(1, model.nbody):
        label = _link(model, b, name)
        first, count = int(model.body_jntadr[b]), int(model.body_jntnum[b])
        parts = []
        for g in range(model.ngeom) if shapes else ():
            if model.geom_bodyid[g] == b and (model.geom_contype[g] or model.geom_conaffinity[g]):
                place = {"position": model.geom_pos[g], "orientation": model.geom_quat[g]}
                parts.append(_shape(model, g) | place)
        mass = float(model.body_mass[b])
        scene.add_rigid(
            label,
            shape={"compound": parts} if parts else None,
            mass=max(mass, 1e-6),
            center=model.body_ipos[b],
            inertia=np.maximum(model.body_inertia[b], 1e-9),
            axes=model.body_iquat[b],
            position=data.xpos[b],
            orientation=data.xquat[b],
        )
        links[label] = (b, count)
        parent = int(model.body_parentid[b])
        other = "world" if parent == 0 else _link(model, parent, name)
        if count == 0:
            scene.add_joint(f"{label}_fixed", kind="fixed", between=[other, label], anchor=data.xpos[b])
            welded.append(label)
            continue
        for k, j in enumerate(range(first, first + count), start=1):
            kind = JOINT(model.jnt_type[j])
            if kind == JOINT.mjJNT_FREE:
                if joints or floating:
                    raise Error(f"`{_label(model, b)}` floats, but is not the first: one floating base per robot")
                floating = label
                continue
            link = label
            if k < count:
                link = f"{label}_{k}"
                at, turn = _pose_after(model, data, b, k)
                links[link] = (b, k)
                # What drives it has its inertia: a link between joints needs none of its own.
                scene.add_rigid(link, mass=1e-6, inertia=np.full(3, 1e-9), position=at, orientation=turn)
            word = {JOINT.mjJNT_HINGE: "hinge", JOINT.mjJNT_SLIDE: "slider", JOINT.mjJNT_BALL: "ball"}[kind]
            joint = _plain(f"{name}-{str(model.joint(j).name) or f'joint{j}'}")
            joint = f"{joint}_joint" if joint == label else joint
            axis = None if word == "ball" else data.xaxis[j]
            scene.add_joint(joint, kind=word, between=[other, link], anchor=data.xanchor[j], axis=axis)  # type: ignore[arg-type]
            joints.append(joint)
            other = link
    labels = [_link(model, b, name) for b in range(1, model.nbody)]
    for i, one in enumerate(labels):
        for two in labels[:i]:
            scene.add_contact(between=[one, two], enabled=False)
    scene.add_articulation(name, joints, floating=floating, welded=welded)
    return MujocoRobot(model, data, name, links)
