//! Where a tree is and how it moves: $R_i = R_p R_c R_z(q)$, $p_i = p_p + R_p p_c$, $\omega_i = \omega_p + z\dot q$.
//!
//! One sweep from the world to the leaves. The Jacobian of a point x of a link has a column for each dof on the path
//! from the world: $z \times (x - p)$ and $z$ for a turn about z through p, z and 0 for a shift. Its rate times the
//! velocity, $\dot J v$, is the acceleration that the point has if all $\dot v$ are zero.

use std::ops::Range;

use nalgebra::Vector3;

use super::fixed_size::{
    Number, column, cross, dot, plus, plus_cross, plus_turn, product, scaled, sum, turn, turn_back,
};
use super::tree::{NONE, Node, Tree};
use super::work::{Composite, Frame, Motion, TreeWork};
use crate::joints::MotionSubspace;
use crate::math::{Mat3, Pose, Quat, Vec3};

/// Three numbers of a slice.
#[inline(always)]
pub(super) fn vec3(a: &[f64], at: usize) -> Vec3 {
    let s = &a[at..at + 3];
    Vec3::new(s[0], s[1], s[2])
}

/// Matrix of a quaternion w, x, y, z of any length but zero.
#[inline(always)]
fn quaternion_matrix(q: &[f64], at: usize) -> Mat3 {
    let s = &q[at..at + 4];
    let (w, x, y, z) = (s[0], s[1], s[2], s[3]);
    let k = 2.0 / (w * w + x * x + y * y + z * z);
    let (xx, yy, zz) = (k * x * x, k * y * y, k * z * z);
    let (xy, xz, yz, wx, wy, wz) = (k * x * y, k * x * z, k * y * z, k * w * x, k * w * y, k * w * z);
    Mat3::new(
        1.0 - (yy + zz),
        xy - wz,
        xz + wy,
        xy + wz,
        1.0 - (xx + zz),
        yz - wx,
        xz - wy,
        yz + wx,
        1.0 - (xx + yy),
    )
}

impl Node {
    /// Frame of the node from that of its parent.
    #[inline(always)]
    pub(super) fn frame(&self, q: &[f64], parent: &Frame, turned: &[f64; 2]) -> Frame {
        let E = product(&parent.R, &self.R);
        let r = turn(&parent.R, &self.p);
        let at = self.q as usize;
        let turned_by = |[s, c]: &[f64; 2]| {
            let (x, y) = (column(&E, 0), column(&E, 1));
            Mat3::from_columns(&[plus(&(*c * x), *s, &y), plus(&(*c * y), -*s, &x), column(&E, 2)])
        };
        let (R, r) = match self.kind {
            MotionSubspace::Turn => (turned_by(turned), r),
            MotionSubspace::Slide => (E, plus(&r, q[at] - self.reference, &column(&E, 2))),
            MotionSubspace::Screw(pitch) => {
                (turned_by(turned), plus(&r, pitch * (q[at] - self.reference), &column(&E, 2)))
            }
            MotionSubspace::Ball => (product(&E, &quaternion_matrix(q, at)), r),
            MotionSubspace::Shift => (E, plus_turn(&r, &E, &vec3(q, at))),
        };
        Frame { R, r, p: parent.p + r }
    }

    /// Motion of the node from that of its parent, for velocities and accelerations of its dofs (of which `None`
    /// means zero).
    ///
    /// A turn about z: ω = ω_p + z q̇, ω̇ = ω̇_p + z q̈ + ω_p × z q̇. A shift along z: a += z q̈ + 2 ω_p × z q̇. In both
    /// a = a_p + ω̇_p × r + ω_p × (ω_p × r).
    #[inline(always)]
    pub(super) fn motion(&self, v: &[f64], dv: Option<&[f64]>, f: &Frame, p: &Motion) -> Motion {
        let at = self.v as usize;
        self.motion_of(|k| v[at + k], dv.map(|dv| move |k| dv[at + k]), f, p)
    }

    /// The same, dof by dof.
    #[inline(always)]
    pub(super) fn motion_of<S: Number>(
        &self,
        v: impl Fn(usize) -> S,
        dv: Option<impl Fn(usize) -> S>,
        f: &Frame<S>,
        p: &Motion<S>,
    ) -> Motion<S> {
        let a = plus_cross(&plus_cross(&p.a, &p.dw, &f.r), &p.w, &cross(&p.w, &f.r));
        let z = column(&f.R, 2);
        let along = |x: S| scaled(x, &z);
        let turned = |x: &dyn Fn(usize) -> S| turn(&f.R, &Vector3::new(x(0), x(1), x(2)));
        let turning = |relative: &Vector3<S>, rate: Option<Vector3<S>>, a: Vector3<S>| {
            let dw = plus_cross(&p.dw, &p.w, relative);
            Motion { w: sum(&p.w, relative), dw: rate.map_or(dw, |rate| sum(&dw, &rate)), a }
        };
        let sliding = |relative: &Vector3<S>, rate: Option<Vector3<S>>| {
            let a = plus_cross(&a, &p.w, &scaled(S::all(2.0), relative));
            rate.map_or(a, |rate| sum(&a, &rate))
        };
        match self.kind {
            MotionSubspace::Turn => turning(&along(v(0)), dv.map(|dv| along(dv(0))), a),
            MotionSubspace::Slide => {
                Motion { w: p.w, dw: p.dw, a: sliding(&along(v(0)), dv.map(|dv| along(dv(0)))) }
            }
            MotionSubspace::Screw(pitch) => {
                let (pitch, rate) = (S::all(pitch), dv.map(|dv| dv(0)));
                let a = sliding(&along(pitch * v(0)), rate.map(|rate| along(pitch * rate)));
                turning(&along(v(0)), rate.map(along), a)
            }
            MotionSubspace::Ball => turning(&turned(&v), dv.map(|dv| turned(&dv)), a),
            MotionSubspace::Shift => {
                Motion { w: p.w, dw: p.dw, a: sliding(&turned(&v), dv.map(|dv| turned(&dv))) }
            }
        }
    }

    /// Velocity of the origin relative to the parent's frame [m/s].
    #[inline(always)]
    pub(super) fn slide_velocity(&self, v: &[f64], R: &Mat3) -> Vec3 {
        let at = self.v as usize;
        match self.kind {
            MotionSubspace::Turn | MotionSubspace::Ball => Vec3::zeros(),
            MotionSubspace::Slide => v[at] * column(R, 2),
            MotionSubspace::Screw(pitch) => pitch * v[at] * column(R, 2),
            MotionSubspace::Shift => turn(R, &vec3(v, at)),
        }
    }

    /// Angular velocity relative to the parent [rad/s].
    #[inline(always)]
    fn turn_velocity(&self, v: &[f64], R: &Mat3) -> Vec3 {
        let at = self.v as usize;
        match self.kind {
            MotionSubspace::Turn | MotionSubspace::Screw(_) => v[at] * column(R, 2),
            MotionSubspace::Ball => turn(R, &vec3(v, at)),
            MotionSubspace::Slide | MotionSubspace::Shift => Vec3::zeros(),
        }
    }

    /// Turn and shift of the node's dof number k (0, 1, 2) per unit of its velocity, world axes.
    #[inline(always)]
    pub(super) fn axis(&self, R: &Mat3, k: usize) -> (Vec3, Vec3) {
        let o = Vec3::zeros();
        match self.kind {
            MotionSubspace::Turn => (column(R, 2), o),
            MotionSubspace::Slide => (o, column(R, 2)),
            MotionSubspace::Screw(pitch) => (column(R, 2), pitch * column(R, 2)),
            MotionSubspace::Ball => (column(R, k), o),
            MotionSubspace::Shift => (o, column(R, k)),
        }
    }

    /// Mass, first moment and inertia about the origin, world axes.
    #[inline(always)]
    pub(super) fn composite(&self, R: &Mat3) -> Composite {
        Composite { mass: self.mass, moment: turn(R, &self.moment), inertia: self.inertia.turned(R) }
    }
}

/// How a point of a link moves, world axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PointMotion {
    /// Velocity of the point \[m/s\], or its acceleration \[m/s²\].
    pub linear: Vec3,
    /// Angular velocity of the link \[rad/s\], or its rate \[rad/s²\].
    pub angular: Vec3,
}

impl Tree {
    /// Poses of all links at q.
    pub fn kinematics(&self, q: &[f64], work: &mut TreeWork) {
        debug_assert_eq!(q.len(), self.coordinates());
        self.angles(q, work);
        let frames = &mut work.frames[..self.nodes.len()];
        for i in 1..self.nodes.len() {
            let node = &self.nodes[i];
            frames[i] = node.frame(q, &frames[node.parent as usize], &work.turns[i]);
        }
    }

    /// Sine and cosine of every angle.
    #[inline(always)]
    pub(super) fn angles(&self, q: &[f64], work: &mut TreeWork) {
        let turns = &mut work.turns[..self.nodes.len()];
        for i in 1..self.nodes.len() {
            let node = &self.nodes[i];
            if matches!(node.kind, MotionSubspace::Turn | MotionSubspace::Screw(_)) {
                turns[i] = (q[node.q as usize] - node.reference).sin_cos().into();
            }
        }
    }

    /// Velocities of all links, and their accelerations if no dof accelerates and gravity is off. After
    /// [`kinematics`](Self::kinematics).
    pub fn velocities(&self, v: &[f64], work: &mut TreeWork) {
        debug_assert_eq!(v.len(), self.freedoms());
        let o = Vec3::zeros();
        work.motion[0] = Motion { w: o, dw: o, a: o };
        work.velocity[0] = o;
        for i in 1..self.nodes.len() {
            let (node, frame) = (&self.nodes[i], &work.frames[i]);
            let parent = node.parent as usize;
            work.motion[i] = node.motion(v, None, frame, &work.motion[parent]);
            let carried = plus_cross(&work.velocity[parent], &work.motion[parent].w, &frame.r);
            work.velocity[i] = carried + node.slide_velocity(v, &frame.R);
        }
    }

    /// Velocities of all links of whole trees, given by their nodes, without accelerations: what
    /// [`point_velocity`](Self::point_velocity) asks for. After [`kinematics`](Self::kinematics).
    pub(crate) fn velocities_in(&self, nodes: Range<usize>, v: &[f64], work: &mut TreeWork) {
        (work.motion[0].w, work.velocity[0]) = (Vec3::zeros(), Vec3::zeros());
        for i in nodes {
            let (node, frame) = (&self.nodes[i], &work.frames[i]);
            let parent = node.parent as usize;
            let w = work.motion[parent].w;
            let carried = plus_cross(&work.velocity[parent], &w, &frame.r);
            work.velocity[i] = carried + node.slide_velocity(v, &frame.R);
            work.motion[i].w = w + node.turn_velocity(v, &frame.R);
        }
    }

    /// Pose of the frame of a link in the world. After [`kinematics`](Self::kinematics).
    pub fn link_pose(&self, link: usize, work: &TreeWork) -> Pose {
        let R = nalgebra::Rotation3::from_matrix_unchecked(self.link_rotation(link, work));
        Pose::new(self.link_position(link, work), Quat::from_rotation_matrix(&R))
    }

    /// Origin of the frame of a link \[m\]. After [`kinematics`](Self::kinematics).
    pub fn link_position(&self, link: usize, work: &TreeWork) -> Vec3 {
        let place = &self.links[link];
        let frame = &work.frames[place.node as usize];
        plus_turn(&frame.p, &frame.R, &place.p)
    }

    /// Axes of the frame of a link, R_WL. After [`kinematics`](Self::kinematics).
    pub fn link_rotation(&self, link: usize, work: &TreeWork) -> Mat3 {
        let place = &self.links[link];
        product(&work.frames[place.node as usize].R, &place.R)
    }

    /// Centre of mass of a link \[m\]. After [`kinematics`](Self::kinematics).
    pub fn link_center(&self, link: usize, work: &TreeWork) -> Vec3 {
        let place = &self.links[link];
        let frame = &work.frames[place.node as usize];
        plus_turn(&frame.p, &frame.R, &plus_turn(&place.p, &place.R, &place.center))
    }

    /// Velocity of the point of a link that is at x in the world. After [`velocities`](Self::velocities).
    #[inline(always)]
    pub fn point_velocity(&self, link: usize, x: &Vec3, work: &TreeWork) -> PointMotion {
        let node = self.links[link].node as usize;
        let w = work.motion[node].w;
        let linear = plus_cross(&work.velocity[node], &w, &(x - work.frames[node].p));
        PointMotion { linear, angular: w }
    }

    /// J̇ v: acceleration of the point of a link that is at x in the world if all dv/dt are zero, without gravity.
    /// After [`velocities`](Self::velocities).
    pub fn point_bias_acceleration(&self, link: usize, x: &Vec3, work: &TreeWork) -> PointMotion {
        let node = self.links[link].node as usize;
        let Motion { w, dw, a } = work.motion[node];
        let d = x - work.frames[node].p;
        PointMotion { linear: plus_cross(&plus_cross(&a, &dw, &d), &w, &cross(&w, &d)), angular: dw }
    }

    /// Axes of the node of a dof, and in world axes its mass \[kg\], first moment \[kg·m\] and inertia about its origin
    /// \[kg·m²\]. After [`kinematics`](Self::kinematics).
    pub(crate) fn node_inertia(&self, d: usize, work: &TreeWork) -> (Mat3, f64, Vec3, Mat3) {
        let i = self.dof_node[d] as usize;
        let R = work.frames[i].R;
        let own = self.nodes[i].composite(&R);
        (R, own.mass, own.moment, own.inertia.matrix())
    }

    /// Calls `each` with the number, the linear and the angular column of every dof that moves the point x of a link,
    /// from the link to the world. After [`kinematics`](Self::kinematics).
    pub fn each_column(
        &self,
        link: usize,
        x: &Vec3,
        work: &TreeWork,
        mut each: impl FnMut(usize, Vec3, Vec3),
    ) {
        let mut d = self.last_dof(self.links[link].node);
        while d != NONE {
            let (linear, angular) = self.column_at(d as usize, x, work);
            each(d as usize, linear, angular);
            d = self.dof_parent[d as usize];
        }
    }

    #[inline(always)]
    pub(super) fn column_at(&self, d: usize, x: &Vec3, work: &TreeWork) -> (Vec3, Vec3) {
        let i = self.dof_node[d] as usize;
        let (node, frame) = (&self.nodes[i], &work.frames[i]);
        let (s, shift) = node.axis(&frame.R, d - node.v as usize);
        (plus_cross(&shift, &s, &(x - frame.p)), s)
    }

    /// Jacobian of the point x of a link: 3 rows of `linear` and 3 of `angular`, each as long as v, row by row, so that
    /// ẋ = J v and ω = J_ω v. After [`kinematics`](Self::kinematics).
    pub fn point_jacobian(
        &self,
        link: usize,
        x: &Vec3,
        work: &TreeWork,
        linear: &mut [f64],
        angular: &mut [f64],
    ) {
        let nv = self.freedoms();
        linear[..3 * nv].fill(0.0);
        angular[..3 * nv].fill(0.0);
        self.each_column(link, x, work, |d, l, w| {
            for k in 0..3 {
                linear[k * nv + d] = l[k];
                angular[k * nv + d] = w[k];
            }
        });
    }

    /// Adds Jᵀ of a wrench about the point x of a link to forces on the dofs. After [`kinematics`](Self::kinematics).
    pub fn add_force_at(
        &self,
        link: usize,
        x: &Vec3,
        force: &Vec3,
        torque: &Vec3,
        work: &TreeWork,
        tau: &mut [f64],
    ) {
        self.each_column(link, x, work, |d, l, w| tau[d] += dot(&l, force) + dot(&w, torque));
    }

    /// Centre of mass of all links \[m\]. After [`kinematics`](Self::kinematics).
    pub fn center_of_mass(&self, work: &TreeWork) -> Vec3 {
        let (mut mass, mut sum) = (0.0, Vec3::zeros());
        for (node, frame) in self.nodes.iter().zip(&work.frames) {
            mass += node.mass;
            sum += plus_turn(&(node.mass * frame.p), &frame.R, &node.moment);
        }
        sum / mass
    }

    /// Momentum P \[kg·m/s\] and angular momentum L about the centre of mass \[kg·m²/s\] of all links: the centroidal
    /// momentum. After [`velocities`](Self::velocities).
    pub fn centroidal_momentum(&self, work: &TreeWork) -> (Vec3, Vec3) {
        let c = self.center_of_mass(work);
        let (mut P, mut L) = (Vec3::zeros(), Vec3::zeros());
        for i in 1..self.nodes.len() {
            let (f, n) = self.node_momentum(i, work);
            P += f;
            L += plus_cross(&n, &(work.frames[i].p - c), &f);
        }
        (P, L)
    }

    /// Momentum of a node and its angular momentum about the node's origin.
    fn node_momentum(&self, i: usize, work: &TreeWork) -> (Vec3, Vec3) {
        let (node, R) = (&self.nodes[i], &work.frames[i].R);
        let (w, v) = (work.motion[i].w, work.velocity[i]);
        let k = turn(R, &node.moment);
        let P = plus_cross(&(node.mass * v), &w, &k);
        let spin = turn(R, &node.inertia.times(&turn_back(R, &w)));
        (P, plus_cross(&spin, &k, &v))
    }

    /// Kinetic energy ½ vᵀ M v, armature included \[J\]. After [`velocities`](Self::velocities) with the same v.
    pub fn kinetic_energy(&self, v: &[f64], work: &TreeWork) -> f64 {
        let rotors: f64 = self.armature.iter().zip(v).map(|(m, v)| m * v * v).sum();
        let links: f64 = (1..self.nodes.len())
            .map(|i| {
                let (P, L) = self.node_momentum(i, work);
                dot(&P, &work.velocity[i]) + dot(&L, &work.motion[i].w)
            })
            .sum();
        0.5 * (rotors + links)
    }

    /// Potential energy of gravity, zero at the world's origin \[J\]. After [`kinematics`](Self::kinematics).
    pub fn gravity_energy(&self, work: &TreeWork) -> f64 {
        let weigh = |(node, frame): (&Node, &Frame)| {
            -dot(&self.gravity, &plus_turn(&(node.mass * frame.p), &frame.R, &node.moment))
        };
        self.nodes.iter().zip(&work.frames).map(weigh).sum()
    }
}
