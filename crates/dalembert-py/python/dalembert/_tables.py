"""What a scene may hold: one method for every table of a scene file, with the same names, units and defaults.

Written by `cargo xtask schema` from the description of scene files; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from numpy.typing import ArrayLike

from ._handle import Handle
from .mesh import Mesh

SETTINGS: tuple[str, ...] = (
    "title",
    "description",
    "method",
    "dt",
    "duration",
    "gravity",
    "seed",
    "assemble",
    "explicit",
    "lagrange",
    "impulse",
    "implicit",
    "ipc",
)


class Tables:
    """Base of `Scene`: its settings, and a method for every table."""

    def _set(self, settings: dict[str, Any]) -> None:
        raise NotImplementedError

    def _add(self, table: str, keys: dict[str, Any]) -> Handle:
        raise NotImplementedError

    def __init__(
        self,
        *,
        title: str | None = None,
        description: str | None = None,
        method: Literal["explicit", "lagrange", "impulse", "implicit", "ipc"] | None = None,
        dt: float | None = None,
        duration: float | None = None,
        gravity: ArrayLike | None = None,
        seed: int | None = None,
        assemble: bool | None = None,
        explicit: Mapping[str, Any] | None = None,
        lagrange: Mapping[str, Any] | None = None,
        impulse: Mapping[str, Any] | None = None,
        implicit: Mapping[str, Any] | None = None,
        ipc: Mapping[str, Any] | None = None,
    ) -> None:
        """A scene: SI units, radians, z up. All keys are optional except that there must be particles or bodies.

        Args:
            title: Title, for people. Default: "".
            description: A sentence or two, for people. Default: "".
            method: How time advances. Default: "explicit".
            dt: Step size. [s] Default: 0.001.
            duration: How long the scene runs. [s] Default: 1.
            gravity: Acceleration of free fall. [m/s²] Default: [0, 0, -9.81].
            seed: Seed of everything random. Default: 0.
            assemble: Pull bodies together at the start where exact joints gape. Default: false.
            explicit: Settings of the method `explicit`.
            lagrange: Settings of the method `lagrange`.
            impulse: Settings of the method `impulse`.
            implicit: Settings of the method `implicit`.
            ipc: Settings of the method `ipc`.
        """
        self._set({
            "title": title,
            "description": description,
            "method": method,
            "dt": dt,
            "duration": duration,
            "gravity": gravity,
            "seed": seed,
            "assemble": assemble,
            "explicit": explicit,
            "lagrange": lagrange,
            "impulse": impulse,
            "implicit": implicit,
            "ipc": ipc,
        })

    def add_rigid(
        self,
        name: str,
        *,
        shape: Mapping[str, Any] | None = None,
        density: float | None = None,
        mass: float | None = None,
        inertia: ArrayLike | None = None,
        center: ArrayLike | None = None,
        axes: ArrayLike | Mapping[str, Any] | None = None,
        position: ArrayLike | None = None,
        orientation: ArrayLike | Mapping[str, Any] | None = None,
        velocity: ArrayLike | None = None,
        angular_velocity: ArrayLike | None = None,
        collide: Literal["automatic", "hull", "surface", "decomposition"] | None = None,
        decomposition: Mapping[str, Any] | None = None,
    ) -> Handle:
        """A rigid body. Its mass comes from a density, from a mass spread evenly over the shape, or from `mass` with `inertia`.

        Args:
            name: Name, unique in the scene.
            shape: Shape; if absent the body has no extent, and needs `inertia`.
            density: Density of the shape. [kg/m³]
            mass: Mass. [kg]
            inertia: Inertia about the centre of mass: three moments, or three rows of the tensor in body axes. [kg·m²]
            center: With `inertia`: centre of mass in the body's frame. [m] Default: [0, 0, 0].
            axes: With three moments of `inertia`: orientation of the principal axes in the body, as `orientation`.
            position: Where the origin of its frame stands. [m] Default: [0, 0, 0].
            orientation: Orientation: a unit quaternion w, x, y, z, or `{ axis, angle }`, or `{ euler = [roll, pitch, yaw] }`. Default: [1, 0, 0, 0].
            velocity: Velocity of its centre of mass, world axes. [m/s] Default: [0, 0, 0].
            angular_velocity: Angular velocity, world axes. [rad/s] Default: [0, 0, 0].
            collide: As what meshes collide under `impulse` and `lagrange`. Default: "automatic".
            decomposition: With `collide = "decomposition"`: how finely.

        Exactly one of density, mass.

        At most one of density, inertia.
        """
        return self._add("rigid", {
            "name": name,
            "shape": shape,
            "density": density,
            "mass": mass,
            "inertia": inertia,
            "center": center,
            "axes": axes,
            "position": position,
            "orientation": orientation,
            "velocity": velocity,
            "angular_velocity": angular_velocity,
            "collide": collide,
            "decomposition": decomposition,
        })

    def add_joint(
        self,
        name: str,
        *,
        kind: Literal["ball", "hinge", "slider", "fixed", "universal", "constant_velocity", "cylindrical", "planar", "screw", "distance", "point_on_line", "point_on_plane"],
        between: Sequence[str],
        anchor: ArrayLike | None = None,
        anchors: ArrayLike | None = None,
        axis: ArrayLike | None = None,
        axis2: ArrayLike | None = None,
        pitch: float | None = None,
        length: float | None = None,
        limits: ArrayLike | None = None,
        kp: float | None = None,
        kd: float | None = None,
        error_reduction: float | None = None,
        regularization: float | None = None,
        limit_kp: float | None = None,
        limit_kd: float | None = None,
        motor: Mapping[str, Any] | None = None,
        damping: float | None = None,
        friction: float | None = None,
        armature: float | None = None,
        break_force: float | None = None,
        collide: bool | None = None,
    ) -> Handle:
        """A joint between two bodies, particles or the world. Quantities: `NAME.angle`, `NAME.position`, `NAME.rate`, `NAME.force`, `NAME.gap`, `NAME.broken`.

        Args:
            name: Name, unique among joints, bodies and points.
            kind: Which joint.
            between: What it joins: rigid bodies, particles such as `rope[3]`, or `world`.
            anchor: Place of both anchors in the world at the start (of a `distance`: of the first). The second body's origin if absent. [m]
            anchors: Places of the anchors, each in the frame of its body. [m]
            axis: Axis in the world at the start, of any length. Default: [0, 0, 1].
            axis2: Axis of the second body in the world at the start, of any length; made if absent.
            pitch: Advance per turn. [m]
            length: Distance; the one at the start if absent. [m]
            limits: Least and greatest value of the coordinate. [rad or m]
            kp: Stiffness of each row; makes the joint a spring-damper. Exact if neither `kp` nor `kd` is given. [N/m or N·m/rad]
            kd: Damping of each row. [N·s/m or N·m·s/rad]
            error_reduction: Share ε of the gap that a step takes away, whatever its size (`impulse` only).
            regularization: Softness r of each row (`impulse` only). [1/(N·s/m)]
            limit_kp: Stiffness of the limits; hard if absent. [N·m/rad or N/m]
            limit_kd: Damping of the limits. [N·m·s/rad or N·s/m]
            motor: What drives the coordinate.
            damping: Viscous damping of the coordinate. [N·m·s/rad or N·s/m] Default: 0.
            friction: Dry friction of the coordinate (`impulse` only). [N·m or N] Default: 0.
            armature: Inertia of a rotor on the coordinate. [kg·m² or kg] Default: 0.
            break_force: The joint breaks when the norm of λ over its rows exceeds this. [N or N·m]
            collide: Whether the two bodies still collide, for methods with contact. Default: false.

        At most one of anchor, anchors.

        At most one of kp, error_reduction.

        At most one of kd, error_reduction.

        All or none of error_reduction, regularization.
        """
        return self._add("joint", {
            "name": name,
            "kind": kind,
            "between": between,
            "anchor": anchor,
            "anchors": anchors,
            "axis": axis,
            "axis2": axis2,
            "pitch": pitch,
            "length": length,
            "limits": limits,
            "kp": kp,
            "kd": kd,
            "error_reduction": error_reduction,
            "regularization": regularization,
            "limit_kp": limit_kp,
            "limit_kd": limit_kd,
            "motor": motor,
            "damping": damping,
            "friction": friction,
            "armature": armature,
            "break_force": break_force,
            "collide": collide,
        })

    def add_gear(
        self,
        name: str,
        *,
        joints: Sequence[str],
        ratio: float | None = None,
        radius: float | None = None,
        kp: float | None = None,
        kd: float | None = None,
    ) -> Handle:
        """Two joints whose coordinates move in proportion: first + ratio · second stays as it is at the start.

        Args:
            name: Name, unique among joints, bodies and points.
            joints: Two joints with one coordinate each: hinge (angle), slider (position), cylindrical and screw (angle).
            ratio: Ratio: teeth of the second over teeth of the first; negative for a belt or an inner gear.
            radius: Rack and pinion: the first joint is the rack's slider, the second the pinion's hinge, and the slide is the radius times the angle. [m]
            kp: Stiffness of each row; makes the joint a spring-damper. Exact if neither `kp` nor `kd` is given. [N/m or N·m/rad]
            kd: Damping of each row. [N·s/m or N·m·s/rad]

        Exactly one of ratio, radius.
        """
        return self._add("gear", {
            "name": name,
            "joints": joints,
            "ratio": ratio,
            "radius": radius,
            "kp": kp,
            "kd": kd,
        })

    def add_bead(
        self,
        name: str,
        *,
        on: str | Sequence[str],
        circle: Mapping[str, Any] | None = None,
        line: Mapping[str, Any] | None = None,
        parabola: Mapping[str, Any] | None = None,
        sphere: Mapping[str, Any] | None = None,
        cylinder: Mapping[str, Any] | None = None,
        plane: Mapping[str, Any] | None = None,
        torus: Mapping[str, Any] | None = None,
    ) -> Handle:
        """Particles that stay on a curve or surface.

        Args:
            name: Name, unique among joints, bodies and points.
            on: The particles, each held by itself.
            circle: A circle.
            line: A straight line.
            parabola: A parabola.
            sphere: A sphere.
            cylinder: A cylinder.
            plane: A plane.
            torus: A torus.

        Exactly one of circle, line, parabola, sphere, cylinder, plane, torus.
        """
        return self._add("bead", {
            "name": name,
            "on": on,
            "circle": circle,
            "line": line,
            "parabola": parabola,
            "sphere": sphere,
            "cylinder": cylinder,
            "plane": plane,
            "torus": torus,
        })

    def add_generalized(
        self,
        name: str,
        *,
        pendulum: Mapping[str, Any],
        masses: ArrayLike,
        coordinates: ArrayLike,
        rates: ArrayLike | None = None,
    ) -> Handle:
        """A body with generalized coordinates u: its points lie at x(u). Other maps than the pendulum are written in Rust. Quantities: `NAME.u0`, `NAME.du0`, and those of its points.

        Args:
            name: Name, unique in the scene.
            pendulum: The map x(u).
            masses: Masses of its points. [kg]
            coordinates: u at the start. [rad]
            rates: u̇ at the start; zero if absent. [rad/s]
        """
        return self._add("generalized", {
            "name": name,
            "pendulum": pendulum,
            "masses": masses,
            "coordinates": coordinates,
            "rates": rates,
        })

    def add_robot(
        self,
        name: str | None = None,
        *,
        file: str | None = None,
        text: str | None = None,
        position: ArrayLike | None = None,
        orientation: ArrayLike | Mapping[str, Any] | None = None,
        base: Literal["fixed", "floating"] | None = None,
        keyframe: str | None = None,
        positions: Mapping[str, Any] | None = None,
        velocities: Mapping[str, Any] | None = None,
        controls: Mapping[str, Any] | None = None,
        drive: Mapping[str, Any] | None = None,
        integrator: Literal["discrete", "implicitfast", "implicit", "euler"] | None = None,
        collide: Literal["automatic", "hull", "surface", "decomposition"] | None = None,
        decomposition: Mapping[str, Any] | None = None,
    ) -> Handle:
        """An articulated robot from a URDF or MJCF file, in reduced coordinates. Under `impulse`, where it touches as its file says, under `ipc`, and without contact under `lagrange` and `explicit` with `rk4`, `midpoint` or `symplectic_euler`. A tree of the file that is one free body becomes a rigid body `NAME/BODY`. Quantities: `NAME.JOINT`, `NAME.JOINT.rate`, `NAME.BODY.x`, `NAME.SITE.z`, `NAME.gap`.

        Args:
            name: Name, unique in the scene; if absent that of the robot in its file, or else the file's own.
            file: URDF or MJCF file, its path relative to this file.
            text: The robot itself, as URDF or MJCF without other files.
            position: Where the origin of the robot's world stands. [m] Default: [0, 0, 0].
            orientation: Orientation: a unit quaternion w, x, y, z, or `{ axis, angle }`, or `{ euler = [roll, pitch, yaw] }`. Default: [1, 0, 0, 0].
            base: Whether its root stands or floats; if absent as the file says.
            keyframe: Keyframe to start from; if absent the first, if any.
            positions: Coordinates at the start, by joint. [rad or m]
            velocities: Velocities at the start, by joint. [rad/s or m/s]
            controls: Controls, by actuator.
            drive: What drives it besides its actuators.
            integrator: Which forces a step of `impulse` takes at its end. A file that runs by itself brings its own. Default: "discrete".
            collide: As what meshes collide under `impulse` and `lagrange`. Default: "automatic".
            decomposition: With `collide = "decomposition"`: how finely.

        Exactly one of file, text.
        """
        return self._add("robot", {
            "name": name,
            "file": file,
            "text": text,
            "position": position,
            "orientation": orientation,
            "base": base,
            "keyframe": keyframe,
            "positions": positions,
            "velocities": velocities,
            "controls": controls,
            "drive": drive,
            "integrator": integrator,
            "collide": collide,
            "decomposition": decomposition,
        })

    def add_soft(
        self,
        name: str,
        *,
        box: Mapping[str, Any] | None = None,
        cylinder: Mapping[str, Any] | None = None,
        ball: Mapping[str, Any] | None = None,
        torus: Mapping[str, Any] | None = None,
        file: str | None = None,
        vertices: ArrayLike | None = None,
        tets: ArrayLike | None = None,
        hexes: ArrayLike | None = None,
        scale: float | None = None,
        elements: Literal["tets", "quadratic_tets", "hexes", "bending_hexes"] | None = None,
        material: Literal["linear", "corotated", "stvk", "neo_hookean", "stable_neo_hookean"] | None = None,
        young: float | None = None,
        poisson: float | None = None,
        density: float | None = None,
        mass: Literal["lumped", "consistent"] | None = None,
        position: ArrayLike | None = None,
        orientation: ArrayLike | Mapping[str, Any] | None = None,
        velocity: ArrayLike | None = None,
        angular_velocity: ArrayLike | None = None,
    ) -> Handle:
        """A soft solid: a set of particles of its name, with elements between them. Whatever takes particles takes its nodes; `points` embeds places and surfaces in it.

        Args:
            name: Name, unique in the scene.
            box: A box.
            cylinder: A round cylinder.
            ball: A ball.
            torus: A ring.
            file: A solid mesh of tetrahedra or of hexahedra from a file (Gmsh `.msh` or legacy `.vtk`) whose path is relative to this file.
            vertices: Nodes of a mesh, with `tets` or `hexes`. [m]
            tets: Corners of tetrahedra among `vertices`, from 0: the first three counter-clockwise seen from the fourth.
            hexes: Corners of hexahedra among `vertices`, from 0: four around the bottom, counter-clockwise seen from above, and those above them.
            scale: Factor on the nodes of a mesh from `file` or `vertices`. Default: 1.
            elements: Its elements; if absent `tets`, or those of the mesh that is given.
            material: Constitutive law. Default: "corotated".
            young: Young's modulus. [Pa] Default: 100000.
            poisson: Poisson's ratio. Default: 0.3.
            density: Density. [kg/m³] Default: 1000.
            mass: How the mass is spread. Default: "lumped".
            position: Where the origin of its frame stands. [m] Default: [0, 0, 0].
            orientation: Orientation: a unit quaternion w, x, y, z, or `{ axis, angle }`, or `{ euler = [roll, pitch, yaw] }`. Default: [1, 0, 0, 0].
            velocity: Velocity of its origin, world axes. [m/s] Default: [0, 0, 0].
            angular_velocity: Angular velocity about its origin, world axes. [rad/s] Default: [0, 0, 0].

        Exactly one of box, cylinder, ball, torus, file, tets, hexes.
        """
        return self._add("soft", {
            "name": name,
            "box": box,
            "cylinder": cylinder,
            "ball": ball,
            "torus": torus,
            "file": file,
            "vertices": vertices,
            "tets": tets,
            "hexes": hexes,
            "scale": scale,
            "elements": elements,
            "material": material,
            "young": young,
            "poisson": poisson,
            "density": density,
            "mass": mass,
            "position": position,
            "orientation": orientation,
            "velocity": velocity,
            "angular_velocity": angular_velocity,
        })

    def add_cloth(
        self,
        name: str | Mesh,
        *,
        grid: Mapping[str, Any] | None = None,
        surface: Mapping[str, Any] | None = None,
        membrane: Literal["stvk", "baraff_witkin"] | None = None,
        young: float | None = None,
        poisson: float | None = None,
        thickness: float | None = None,
        density: float | None = None,
        bending: float | None = None,
        bending_law: Literal["hinges", "quadratic"] | None = None,
        strain_limit: float | None = None,
        position: ArrayLike | None = None,
        orientation: ArrayLike | Mapping[str, Any] | None = None,
        velocity: ArrayLike | None = None,
    ) -> Handle:
        """A cloth or shell: a set of particles of its name, with triangles between them that resist stretching and edges that resist bending. Its energies are `energy.NAME` and `energy.NAME bending`.

        Args:
            name: Name, unique in the scene.
            grid: A rectangle.
            surface: The surface of a shape, or triangles from a file or given here, which need not be closed.
            membrane: What resists stretching. Default: "stvk".
            young: Young's modulus. [Pa] Default: 1000000.
            poisson: Poisson's ratio. Default: 0.3.
            thickness: Thickness. [m] Default: 0.0003.
            density: Density. [kg/m³] Default: 300.
            bending: Bending stiffness; that of a plate, E t³/12(1 − ν²), if absent. [N·m]
            bending_law: What resists bending. Default: "hinges".
            strain_limit: Strain s beyond which the threads of `baraff_witkin` stiffen: at the strain s + d they pull by 10·E·thickness·d²/s more, per width.
            position: Where the origin of its frame stands. [m] Default: [0, 0, 0].
            orientation: Orientation: a unit quaternion w, x, y, z, or `{ axis, angle }`, or `{ euler = [roll, pitch, yaw] }`. Default: [1, 0, 0, 0].
            velocity: Velocity of all of it, world axes. [m/s] Default: [0, 0, 0].

        Exactly one of grid, surface.
        """
        return self._add("cloth", {
            "name": name,
            "grid": grid,
            "surface": surface,
            "membrane": membrane,
            "young": young,
            "poisson": poisson,
            "thickness": thickness,
            "density": density,
            "bending": bending,
            "bending_law": bending_law,
            "strain_limit": strain_limit,
            "position": position,
            "orientation": orientation,
            "velocity": velocity,
        })

    def add_rod(
        self,
        name: str,
        *,
        points: ArrayLike | None = None,
        line: Mapping[str, Any] | None = None,
        radius: float | None = None,
        young: float | None = None,
        poisson: float | None = None,
        density: float | None = None,
        twist: bool | None = None,
        clamped: Literal["start", "end", "both"] | None = None,
        velocity: ArrayLike | None = None,
    ) -> Handle:
        """A thin rod of round section: a set of particles of its name along a line. It resists stretching, bending and, with `twist`, twisting; its energies are `energy.NAME`, `energy.NAME bending` (with twist) and `energy.NAME clamp`.

        Args:
            name: Name, unique in the scene.
            points: Its nodes, in the world, at rest and at the start. [m]
            line: A straight rod.
            radius: Radius of its section. [m] Default: 0.0025.
            young: Young's modulus. [Pa] Default: 10000000.
            poisson: Poisson's ratio. Default: 0.3.
            density: Density. [kg/m³] Default: 1000.
            twist: Whether it resists twisting, and keeps the shape that `points` give it; for the method `implicit`. Without it a rod is straight at rest. Default: false.
            clamped: Ends that are held together with the direction of the rod there.
            velocity: Velocity of all of it. [m/s] Default: [0, 0, 0].

        Exactly one of points, line.
        """
        return self._add("rod", {
            "name": name,
            "points": points,
            "line": line,
            "radius": radius,
            "young": young,
            "poisson": poisson,
            "density": density,
            "twist": twist,
            "clamped": clamped,
            "velocity": velocity,
        })

    def add_affine(
        self,
        name: str,
        *,
        shape: Mapping[str, Any],
        density: float | None = None,
        mass: float | None = None,
        stiffness: float | None = None,
        energy: Literal["orthogonality", "arap"] | None = None,
        position: ArrayLike | None = None,
        orientation: ArrayLike | Mapping[str, Any] | None = None,
        velocity: ArrayLike | None = None,
        angular_velocity: ArrayLike | None = None,
    ) -> Handle:
        """A body that deforms as a whole, x = p + A X, and is kept near a rigid one; for the method `implicit`. `NAME[0]` is its centre of mass; `points` fixes places to it.

        Args:
            name: Name, unique in the scene.
            shape: Shape, as that of a rigid body.
            density: Density of the shape. [kg/m³]
            mass: Mass, spread evenly over the shape. [kg]
            stiffness: Stiffness κ against deformation. [Pa] Default: 100000000.
            energy: Energy that keeps it stiff. Default: "orthogonality".
            position: Where the origin of its frame stands. [m] Default: [0, 0, 0].
            orientation: Orientation: a unit quaternion w, x, y, z, or `{ axis, angle }`, or `{ euler = [roll, pitch, yaw] }`. Default: [1, 0, 0, 0].
            velocity: Velocity of its centre of mass, world axes. [m/s] Default: [0, 0, 0].
            angular_velocity: Angular velocity, world axes. [rad/s] Default: [0, 0, 0].

        Exactly one of density, mass.
        """
        return self._add("affine", {
            "name": name,
            "shape": shape,
            "density": density,
            "mass": mass,
            "stiffness": stiffness,
            "energy": energy,
            "position": position,
            "orientation": orientation,
            "velocity": velocity,
            "angular_velocity": angular_velocity,
        })

    def add_particles(
        self,
        name: str,
        *,
        positions: ArrayLike | None = None,
        chain: Mapping[str, Any] | None = None,
        grid: Mapping[str, Any] | None = None,
        cloth: Mapping[str, Any] | None = None,
        cloud: Mapping[str, Any] | None = None,
        position: ArrayLike | None = None,
        mass: float | ArrayLike | None = None,
        total_mass: float | None = None,
        velocity: ArrayLike | None = None,
        radius: float | None = None,
    ) -> Handle:
        """A named set of particles. Without an arrangement it is a single particle at `position`.

        Args:
            name: Name, unique in the scene.
            positions: Where the particles lie, one by one. [m]
            chain: A straight line of particles.
            grid: A rectangular lattice.
            cloth: A rectangular patch.
            cloud: Random places in a box.
            position: Added to every position. [m] Default: [0, 0, 0].
            mass: Mass of each particle, or a list with one mass for each. [kg] Default: 1.
            total_mass: Mass of the whole set, divided evenly. [kg]
            velocity: Velocity of each particle at the start, or a list with one velocity for each. [m/s] Default: [0, 0, 0].
            radius: Radius with which each touches rigid bodies, robots and grounds under `impulse`; without one they pass through. Particles do not touch each other. [m]

        At most one of positions, chain, grid, cloth, cloud.

        At most one of mass, total_mass.
        """
        return self._add("particles", {
            "name": name,
            "positions": positions,
            "chain": chain,
            "grid": grid,
            "cloth": cloth,
            "cloud": cloud,
            "position": position,
            "mass": mass,
            "total_mass": total_mass,
            "velocity": velocity,
            "radius": radius,
        })

    def add_points(
        self,
        name: str,
        *,
        of: str | Sequence[str],
        at: ArrayLike | None = None,
        surface: Mapping[str, Any] | None = None,
    ) -> Handle:
        """Points carried by others: a second name for points of other sets, points on a rigid or affine body, or points in a soft solid. Forces on it act on what carries it.

        Args:
            name: Name, unique in the scene.
            of: Points that carry it: sets of particles or `points` given before, such as `rope[0:5]`; or one rigid, soft or affine body; or several rigid bodies, which carry it together.
            at: Places of points on a rigid or affine body or in a soft one, in its frame (in the world for several rigid bodies). Without `at` and `surface`: the origin of a rigid body, all points of others. [m]
            surface: A surface that a soft, affine or rigid body carries, in its frame; drawn, and its points come after `at`.
        """
        return self._add("points", {
            "name": name,
            "of": of,
            "at": at,
            "surface": surface,
        })

    def add_springs(
        self,
        name: str | None = None,
        *,
        along: str | None = None,
        edges: Literal["structural", "shear", "bend"] | Sequence[Literal["structural", "shear", "bend"]] | None = None,
        pairs: Sequence[Sequence[str]] | None = None,
        stiffness: float | None = None,
        damping: float | None = None,
        rest_length: float | None = None,
    ) -> Handle:
        """Springs between the neighbours of a set, between given pairs of points, or both.

        Args:
            name: Name, for the quantity `energy.NAME` and for messages; made from the kind if there is none.
            along: Set of particles whose neighbours are joined.
            edges: Which neighbours `along` the set are joined. A list makes one set of springs for each word, called NAME_structural, NAME_shear and NAME_bend. Default: "structural".
            pairs: Pairs of points, such as `[["hook", "rope[0]"]]`.
            stiffness: Stiffness of each spring. [N/m] Default: 0.
            damping: Damping of each spring along its direction. [N·s/m] Default: 0.
            rest_length: Length without force; the length at the start if absent. [m]

        At least one of along, pairs.

        At least one of stiffness, damping.
        """
        return self._add("springs", {
            "name": name,
            "along": along,
            "edges": edges,
            "pairs": pairs,
            "stiffness": stiffness,
            "damping": damping,
            "rest_length": rest_length,
        })

    def add_angular_springs(
        self,
        name: str | None = None,
        *,
        stiffness: float,
        along: str | None = None,
        triples: Sequence[Sequence[str]] | None = None,
        rest_angle: float | None = None,
    ) -> Handle:
        """Springs that resist a change of the angle at a point, along the lines of a set or over given triples.

        Args:
            name: Name, for the quantity `energy.NAME` and for messages; made from the kind if there is none.
            along: Set of particles along whose lines they lie.
            triples: Triples of points, the one at the angle second.
            stiffness: Stiffness of each. [N·m/rad]
            rest_angle: Angle without force, 0 to π; the angle at the start if absent. [rad]

        At least one of along, triples.
        """
        return self._add("angular_springs", {
            "name": name,
            "along": along,
            "triples": triples,
            "stiffness": stiffness,
            "rest_angle": rest_angle,
        })

    def add_drag(
        self,
        name: str | None = None,
        *,
        on: str | Sequence[str] | None = None,
        linear: float | None = None,
        quadratic: float | None = None,
        wind: ArrayLike | None = None,
    ) -> Handle:
        """Resistance of a medium: f = −(linear + quadratic·|u|) u with u the velocity relative to the wind.

        Args:
            name: Name, for the quantity `energy.NAME` and for messages; made from the kind if there is none.
            on: Points that feel it: names such as `rope`, `rope[3]`, `rope[-1]` or `rope[0:5]`; of a rigid or affine body its centre of mass. All particles if absent.
            linear: Viscous coefficient. [N·s/m] Default: 0.
            quadratic: Quadratic coefficient. [N·s²/m²] Default: 0.
            wind: Velocity of the medium. [m/s] Default: [0, 0, 0].

        At least one of linear, quadratic.
        """
        return self._add("drag", {
            "name": name,
            "on": on,
            "linear": linear,
            "quadratic": quadratic,
            "wind": wind,
        })

    def add_push(
        self,
        name: str | None = None,
        *,
        on: str | Sequence[str] | None = None,
        inside: Mapping[str, Any] | None = None,
        force: ArrayLike | None = None,
        torque: ArrayLike | None = None,
        total: bool | None = None,
        sine: Mapping[str, Any] | None = None,
        pulse: Mapping[str, Any] | None = None,
        table: Mapping[str, Any] | None = None,
    ) -> Handle:
        """A given force on each point, constant or multiplied by a factor over time.

        Args:
            name: Name, for the quantity `energy.NAME` and for messages; made from the kind if there is none.
            on: Points that feel it: names such as `rope`, `rope[3]`, `rope[-1]` or `rope[0:5]`; of a rigid or affine body its centre of mass. All particles if absent.
            inside: Only those of the points that start in this region.
            force: Force on each point. [N]
            torque: Torque on each body, world axes; for rigid bodies, and affine ones under `ipc`. [N·m]
            total: Whether `force` is that on all the points together, divided evenly. Default: false.
            sine: Factor over time: a sine.
            pulse: Factor over time: on for a while.
            table: Factor over time: straight lines between points.

        At least one of force, torque.

        At most one of sine, pulse, table.
        """
        return self._add("push", {
            "name": name,
            "on": on,
            "inside": inside,
            "force": force,
            "torque": torque,
            "total": total,
            "sine": sine,
            "pulse": pulse,
            "table": table,
        })

    def add_attractor(
        self,
        name: str | None = None,
        *,
        on: str | Sequence[str] | None = None,
        center: ArrayLike | None = None,
        mu: float | None = None,
        softening: float | None = None,
        stiffness: float | None = None,
    ) -> Handle:
        """A fixed centre that attracts: like a heavy body (`mu`) or like a spring of no length (`stiffness`).

        Args:
            name: Name, for the quantity `energy.NAME` and for messages; made from the kind if there is none.
            on: Points that feel it: names such as `rope`, `rope[3]`, `rope[-1]` or `rope[0:5]`; of a rigid or affine body its centre of mass. All particles if absent.
            center: Centre. [m] Default: [0, 0, 0].
            mu: Gravitational parameter G·M of a heavy body. [m³/s²]
            softening: With `mu`: length below which the force grows no further. [m] Default: 0.
            stiffness: Stiffness of a spring of no length. [N/m]

        Exactly one of mu, stiffness.

        At most one of softening, stiffness.
        """
        return self._add("attractor", {
            "name": name,
            "on": on,
            "center": center,
            "mu": mu,
            "softening": softening,
            "stiffness": stiffness,
        })

    def add_obstacle(
        self,
        name: str | None = None,
        *,
        on: str | Sequence[str] | None = None,
        plane: Mapping[str, Any] | None = None,
        sphere: Mapping[str, Any] | None = None,
        hollow: Mapping[str, Any] | None = None,
        radius: float | None = None,
        stiffness: float | None = None,
        damping: float | None = None,
    ) -> Handle:
        """A fixed thing that pushes points out by a penalty on their depth, without friction.

        Args:
            name: Name, for the quantity `energy.NAME` and for messages; made from the kind if there is none.
            on: Points that feel it: names such as `rope`, `rope[3]`, `rope[-1]` or `rope[0:5]`; of a rigid or affine body its centre of mass. All particles if absent.
            plane: The half space behind a plane.
            sphere: A ball.
            hollow: Everything outside a ball: points stay within.
            radius: Radius of the points: contact begins that far outside. [m] Default: 0.
            stiffness: Push on a point per depth. [N/m] Default: 1000.
            damping: Damping while in contact. [N·s/m] Default: 0.

        Exactly one of plane, sphere, hollow.
        """
        return self._add("obstacle", {
            "name": name,
            "on": on,
            "plane": plane,
            "sphere": sphere,
            "hollow": hollow,
            "radius": radius,
            "stiffness": stiffness,
            "damping": damping,
        })

    def add_pressure(
        self,
        name: str | None = None,
        *,
        on: str,
        pressure: float,
    ) -> Handle:
        """Gas of a given pressure inside a closed surface; its energy is −p V.

        Args:
            name: Name, for the quantity `energy.NAME` and for messages; made from the kind if there is none.
            on: The soft body, cloth or `points` with a `surface` whose triangles it pushes at from inside.
            pressure: Pressure above that outside; negative to suck. [Pa]
        """
        return self._add("pressure", {
            "name": name,
            "on": on,
            "pressure": pressure,
        })

    def add_pair_force(
        self,
        name: str | None = None,
        *,
        on: str | Sequence[str] | None = None,
        lennard_jones: Mapping[str, Any] | None = None,
        soft_repulsion: Mapping[str, Any] | None = None,
        gravitation: Mapping[str, Any] | None = None,
        radius: float | None = None,
    ) -> Handle:
        """A force between all points of a selection, or between those that are near each other.

        Args:
            name: Name, for the quantity `energy.NAME` and for messages; made from the kind if there is none.
            on: Points that feel it: names such as `rope`, `rope[3]`, `rope[-1]` or `rope[0:5]`; of a rigid or affine body its centre of mass. All particles if absent.
            lennard_jones: Molecules.
            soft_repulsion: Soft balls.
            gravitation: Heavy bodies.
            radius: Only pairs nearer than this; the cost is then proportional to the number of points. If absent: 2.5 σ for `lennard_jones`, the diameter for `soft_repulsion`, all pairs for `gravitation`. [m]

        Exactly one of lennard_jones, soft_repulsion, gravitation.
        """
        return self._add("pair_force", {
            "name": name,
            "on": on,
            "lennard_jones": lennard_jones,
            "soft_repulsion": soft_repulsion,
            "gravitation": gravitation,
            "radius": radius,
        })

    def add_buoyancy(
        self,
        name: str | None = None,
        *,
        on: str | Sequence[str],
        density: float | None = None,
        level: float | None = None,
        radius: float | None = None,
        linear: float | None = None,
        quadratic: float | None = None,
    ) -> Handle:
        """Still water under a horizontal plane: lifts what it names by the weight of the water in its place, and brakes it.

        Args:
            name: Name, for the quantity `energy.NAME` and for messages; made from the kind if there is none.
            on: Bodies, soft bodies, cloth or carried surfaces, which must be closed; spheres and particles with a radius are balls.
            density: Density of the water. [kg/m³] Default: 1000.
            level: Height of the plane against gravity, from the origin. [m] Default: 0.
            radius: Radius of particles; that of their set if absent. [m]
            linear: Viscous drag per area under water. [N·s/m³] Default: 0.
            quadratic: Quadratic drag per area under water, such as half a drag coefficient times the density. [kg/m³] Default: 0.
        """
        return self._add("buoyancy", {
            "name": name,
            "on": on,
            "density": density,
            "level": level,
            "radius": radius,
            "linear": linear,
            "quadratic": quadratic,
        })

    def add_ground(
        self,
        name: str | None = None,
        *,
        point: ArrayLike | None = None,
        normal: ArrayLike | None = None,
        belt: ArrayLike | None = None,
    ) -> Handle:
        """A solid half-space that does not move, for the methods `ipc`, `impulse` and `lagrange`.

        Args:
            name: Name. Default: "ground".
            point: A point of its surface. [m] Default: [0, 0, 0].
            normal: Direction out of the solid, of any length. Default: [0, 0, 1].
            belt: Velocity of its surface, as of a conveyor belt; what points across the plane is left out (`impulse` only). [m/s] Default: [0, 0, 0].
        """
        return self._add("ground", {
            "name": name,
            "point": point,
            "normal": normal,
            "belt": belt,
        })

    def add_contact(
        self,
        *,
        between: Sequence[str],
        friction: float | None = None,
        restitution: float | None = None,
        torsional_friction: float | None = None,
        rolling_friction: float | None = None,
        stiffness: float | None = None,
        damping: float | None = None,
        enabled: bool | None = None,
    ) -> Handle:
        """What holds between two things that touch, for the methods `ipc`, `impulse` and `lagrange`; later rules go before earlier ones. Under `impulse` and `lagrange` everything touches if there is a ground or a rule; without either, bodies that no joint holds touch each other and all else, and bodies among joints pass through each other.

        Args:
            between: Two names of bodies, soft things, sets of particles, grounds, robots or their bodies (`robot/body`); `*` for anything.
            friction: Coefficient of friction; that of the method's settings if absent.
            restitution: Speed after a bounce over speed before (`impulse` and `lagrange`); that of the method's settings if absent.
            torsional_friction: Friction against turning about the normal, as torque over normal force (`impulse` only). [m]
            rolling_friction: Friction against rolling, as torque over normal force (`impulse` only). [m]
            stiffness: Stiffness of soft contact at each point (`impulse` only); hard if absent. [N/m]
            damping: Damping of soft contact (`impulse` only). [N·s/m] Default: 0.
            enabled: False if they pass through each other. Default: true.
        """
        return self._add("contact", {
            "between": between,
            "friction": friction,
            "restitution": restitution,
            "torsional_friction": torsional_friction,
            "rolling_friction": rolling_friction,
            "stiffness": stiffness,
            "damping": damping,
            "enabled": enabled,
        })

    def add_fix(
        self,
        *,
        on: str | Sequence[str],
        inside: Mapping[str, Any] | None = None,
        directions: ArrayLike | None = None,
    ) -> Handle:
        """Points and bodies that may not move, or points not in some directions. A rigid body is held altogether, under `impulse`, `lagrange` and `ipc`.

        Args:
            on: The points or bodies, such as `cloth[0]` or `["a", "b"]`.
            inside: Only those of the points that start in this region.
            directions: Forbidden directions, of any length; all of them if absent.
        """
        return self._add("fix", {
            "on": on,
            "inside": inside,
            "directions": directions,
        })

    def add_motion(
        self,
        *,
        on: str | Sequence[str],
        inside: Mapping[str, Any] | None = None,
        velocity: ArrayLike | None = None,
        angular_velocity: ArrayLike | None = None,
        center: ArrayLike | None = None,
        from_: float | None = None,
        until: float | None = None,
        path: Mapping[str, Any] | None = None,
        amplitude: ArrayLike | None = None,
        sine: Mapping[str, Any] | None = None,
        table: Mapping[str, Any] | None = None,
    ) -> Handle:
        """Points and bodies with prescribed motion, from where they start; rigid bodies under `impulse`, `lagrange` and `ipc`, where they give way to nothing, and pass through grounds and each other.

        Args:
            on: The points or bodies.
            inside: Only those of the points that start in this region.
            velocity: Constant velocity. [m/s]
            angular_velocity: Constant angular velocity, world axes; affine and rigid bodies turn with it. [rad/s]
            center: What they turn about at the start; the centre of mass of a body, and the origin for points, if absent. [m]
            from_: When velocities begin. [s]
            until: When velocities end. [s]
            path: Shifts of the centre over time, added to what velocities do.
            amplitude: Displacement where the factor of `sine` or `table` is 1. [m]
            sine: Factor over time: a sine.
            table: Factor over time: straight lines between points.

        At least one of velocity, angular_velocity, path, amplitude.

        At most one of velocity, amplitude.

        At most one of angular_velocity, amplitude.

        At most one of path, amplitude.

        At most one of from, amplitude.

        At most one of until, amplitude.

        At most one of center, amplitude.

        At most one of velocity, sine, table.

        At most one of angular_velocity, sine, table.

        At most one of path, sine, table.
        """
        return self._add("motion", {
            "on": on,
            "inside": inside,
            "velocity": velocity,
            "angular_velocity": angular_velocity,
            "center": center,
            "from": from_,
            "until": until,
            "path": path,
            "amplitude": amplitude,
            "sine": sine,
            "table": table,
        })

    def add_expect(
        self,
        *,
        quantity: str,
        value: float | None = None,
        tolerance: float | None = None,
        below: float | None = None,
        above: float | None = None,
        always: bool | None = None,
    ) -> Handle:
        """What must be true of a quantity when the scene has run.

        Args:
            quantity: A number such as `ball.z`, `rope[-1].speed`, `cloth.lowest`, `energy.total`, `energy.NAME`, `energy.drift`, `momentum.x`, `door.wz`, `hinge.angle`, `hinge.force`, `joints.gap`, `box.contact.z`, `contacts.gap` or `time`.
            value: The value, up to `tolerance`. [SI]
            tolerance: Difference allowed. [SI] Default: 0.
            below: Upper bound. [SI]
            above: Lower bound. [SI]
            always: After every step, not only at the end. Default: false.

        At least one of value, below, above.
        """
        return self._add("expect", {
            "quantity": quantity,
            "value": value,
            "tolerance": tolerance,
            "below": below,
            "above": above,
            "always": always,
        })
