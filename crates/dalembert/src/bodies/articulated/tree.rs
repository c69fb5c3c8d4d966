//! A tree of links on joints: $X_b = X_{\text{parent}}\,X_0\,J_1(q_1)\,J_2(q_2)\cdots$, the constant part of a robot.
//!
//! A link stands in its parent's frame at a fixed placement $X_0$ and is moved from there by its joints, in order.
//! Each joint has an anchor a and an axis t in the link's frame and multiplies the pose from the right: a hinge with
//! $T(a)\,R_t(q - q_0)\,T(-a)$, a slide with $T((q - q_0)\,t)$, and so on. Several joints on one link therefore
//! compose, each in the axes that those before it have moved.
//!
//! Inside, every joint is one or two *nodes* without choice left: the frame of a node has its origin in the anchor and
//! its third axis along the axis, so that a hinge is a turn about z. A joint of several freedoms is split where that
//! is exact: a free joint is a shift along the world's axes and then a ball, a planar joint two slides and a hinge, a
//! universal joint two hinges. Links without joints are lumped into the node that carries them. Nodes stand in
//! depth-first order behind node 0, the world.
//!
//! Coordinates are those of MuJoCo: a free joint has position \[m\] and quaternion w, x, y, z, and as velocity that of
//! the link's origin in **world** axes \[m/s\], then the angular velocity in **link** axes \[rad/s\]; a ball has a
//! quaternion and the angular velocity in link axes; a hinge its angle, of which `reference` is the value in the pose
//! as placed. Book: "Bodies".

use std::ops::Range;

use super::aba_simd::FourTrees;
use super::fixed_size::{Sym3, turn, turn_back};
use super::links::{Joint, Link, TreeError, check_joint, check_link, depth_first};
use crate::bodies::mass_properties::unit_inertia_at;
use crate::joints::{JointFrame, JointKind, MotionSubspace};
use crate::math::rotation::{matrix, renormalise};
use crate::math::{Mat3, Pose, Vec3};

/// No dof, no link.
pub(super) const NONE: u32 = u32::MAX;

/// Measured costs of forward dynamics \[ns\]. A dof of depth d takes d and d² times these in the rows and updates of the
/// factored mass matrix; the elimination of articulated bodies takes the last more than composite bodies do.
const ROW_COST: f64 = 4.0;
const UPDATE_COST: f64 = 0.06;
const ELIMINATION_COST: f64 = 17.0;

/// A joint in the finished tree: where its numbers are.
#[derive(Debug, Clone, PartialEq)]
pub struct JointPlace {
    /// Link it moves.
    pub link: usize,
    /// Its place in the link's list of joints.
    pub number: usize,
    /// Kind.
    pub kind: JointKind,
    /// Its coordinates in q.
    pub q: Range<usize>,
    /// Its velocities in v.
    pub v: Range<usize>,
    /// Limits, as in [`Joint::limits`].
    pub limits: Option<[f64; 2]>,
}

/// One step from frame to frame.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    /// R_c: axes at rest in axes of the parent node.
    pub(super) R: Mat3,
    /// p_c: origin at rest in the parent node's frame [m].
    pub(super) p: Vec3,
    /// Parent node.
    pub(super) parent: u32,
    /// First coordinate.
    pub(super) q: u32,
    /// First dof.
    pub(super) v: u32,
    /// First node of its tree.
    pub(super) root: u32,
    /// How it moves in the frame of its parent: the frame is $R_c$, $p_c$ and then this.
    pub(super) kind: MotionSubspace,
    /// Nothing has mass here: a step between two joints of one link.
    pub(super) massless: bool,
    /// What q reads at rest [rad or m].
    pub(super) reference: f64,
    /// Mass [kg].
    pub(super) mass: f64,
    /// First moment m c about the node's origin, node axes [kg·m].
    pub(super) moment: Vec3,
    /// Inertia about the node's origin, node axes [kg·m²].
    pub(super) inertia: Sym3,
}

/// What the tree keeps of a link.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LinkPlace {
    /// Node that carries it.
    pub(super) node: u32,
    /// Axes and origin of the link's frame in the node's.
    pub(super) R: Mat3,
    pub(super) p: Vec3,
    pub(super) mass: f64,
    /// Centre of mass in the link's frame [m].
    pub(super) center: Vec3,
    pub(super) gravity_compensation: f64,
}

/// Which algorithm gives the acceleration. Both give the same to rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForwardDynamics {
    /// The articulated body algorithm: a time linear in the dofs.
    Articulated,
    /// The mass matrix and its factor: faster where the paths to the root are short.
    Factored,
}

/// A robot without its state: links, joints, masses. Built once, shared by all states.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// Gravity \[m/s²\].
    pub gravity: Vec3,
    /// Algorithm of forward dynamics: chosen by what it costs, and free to be changed.
    pub forward: ForwardDynamics,
    pub(super) nodes: Vec<Node>,
    pub(super) links: Vec<LinkPlace>,
    pub(super) joints: Vec<JointPlace>,
    pub(super) neutral: Vec<f64>,
    /// Coordinates at which the springs rest.
    pub(super) spring_rest: Vec<f64>,
    pub(crate) armature: Vec<f64>,
    pub(super) damping: Vec<f64>,
    pub(super) stiffness: Vec<f64>,
    pub(super) dry_friction: Vec<f64>,
    /// Dof before this one on the path to the root.
    pub(super) dof_parent: Vec<u32>,
    /// Node of each dof.
    pub(super) dof_node: Vec<u32>,
    /// Where the row of each dof starts in a branch-sparse matrix; one more for the end.
    pub(super) row: Vec<usize>,
    pub(super) has_springs: bool,
    pub(super) has_damping: bool,
    pub(super) has_compensation: bool,
    /// Trees of one shape four at a time, and the nodes of all others.
    pub(super) four_trees: Vec<FourTrees>,
    pub(super) single_nodes: Vec<Range<usize>>,
    /// Last dofs of the common_ancestors of all trees.
    pub(super) common_ancestors: Vec<u32>,
}

/// Axes of a joint: a right-handed frame whose third column is the direction of t. For t = z it is the identity.
pub fn aligned_frame(t: &Vec3) -> Mat3 {
    let t = t.normalize();
    if t == Vec3::z() {
        return Mat3::identity();
    }
    // Across the coordinate axis farthest from t, and exact where t is itself a coordinate axis.
    let mut e = Vec3::zeros();
    e[t.iamin()] = 1.0;
    let n = e.cross(&t).normalize();
    Mat3::from_columns(&[n, t.cross(&n), t])
}

/// A frame that is carried along while nodes are added: axes and origin in the last node.
struct NodeFrame {
    node: u32,
    R: Mat3,
    p: Vec3,
}

impl NodeFrame {
    /// Adds the node of a joint whose frame has axes `A` and origin `anchor` in the stage's frame.
    fn push(&mut self, tree: &mut Tree, kind: MotionSubspace, A: &Mat3, anchor: &Vec3, reference: f64) {
        let number = tree.nodes.len() as u32;
        let parent = self.node;
        tree.nodes.push(Node {
            R: self.R * A,
            p: self.p + turn(&self.R, anchor),
            parent,
            q: tree.neutral.len() as u32,
            v: tree.dof_node.len() as u32,
            root: if parent == 0 { number } else { tree.nodes[parent as usize].root },
            kind,
            massless: true,
            reference,
            mass: 0.0,
            moment: Vec3::zeros(),
            inertia: Sym3::default(),
        });
        let last = tree.last_dof(parent);
        for k in 0..kind.freedoms() {
            let dof = tree.dof_node.len();
            tree.dof_parent.push(if k == 0 { last } else { dof as u32 - 1 });
            tree.dof_node.push(number);
        }
        *self = Self { node: number, R: A.transpose(), p: -turn_back(A, anchor) };
    }
}

impl Tree {
    /// Checks the links and brings them into order.
    ///
    /// Links may stand in any order. Numbers of links stay those of the list; q and v follow the tree depth first,
    /// children in the order of the list, joints in the order of the link.
    pub fn new(links: &[Link], gravity: Vec3) -> Result<Self, TreeError> {
        let mut tree = Self {
            gravity,
            forward: ForwardDynamics::Articulated,
            nodes: vec![Node {
                R: Mat3::identity(),
                p: Vec3::zeros(),
                parent: 0,
                q: 0,
                v: 0,
                root: 0,
                kind: MotionSubspace::Shift,
                massless: true,
                reference: 0.0,
                mass: 0.0,
                moment: Vec3::zeros(),
                inertia: Sym3::default(),
            }],
            links: links
                .iter()
                .map(|link| LinkPlace {
                    node: NONE,
                    R: Mat3::identity(),
                    p: Vec3::zeros(),
                    mass: link.mass,
                    center: link.center,
                    gravity_compensation: link.gravity_compensation,
                })
                .collect(),
            joints: Vec::new(),
            neutral: Vec::new(),
            spring_rest: Vec::new(),
            armature: Vec::new(),
            damping: Vec::new(),
            stiffness: Vec::new(),
            dry_friction: Vec::new(),
            dof_parent: Vec::new(),
            dof_node: Vec::new(),
            row: vec![0],
            has_springs: false,
            has_damping: false,
            has_compensation: links.iter().any(|link| link.gravity_compensation != 0.0 && link.mass > 0.0),
            four_trees: Vec::new(),
            single_nodes: Vec::new(),
            common_ancestors: Vec::new(),
        };
        for i in depth_first(links)? {
            check_link(&links[i])?;
            tree.add_link(links, i)?;
        }
        let mut depth: Vec<usize> = Vec::with_capacity(tree.freedoms());
        for d in 0..tree.freedoms() {
            let above = tree.dof_parent[d];
            depth.push(if above == NONE { 1 } else { depth[above as usize] + 1 });
            tree.row.push(tree.row[d] + depth[d]);
        }
        tree.has_springs = tree.stiffness.iter().any(|k| *k != 0.0);
        tree.has_damping = tree.damping.iter().any(|b| *b != 0.0);
        tree.check_weights(links)?;
        tree.forward = tree.cheaper();
        tree.common_ancestors = tree.find_common_ancestors();
        (tree.four_trees, tree.single_nodes) = FourTrees::find(&tree.nodes, &tree.trees(&[]));
        Ok(tree)
    }

    /// Number of coordinates: the length of q.
    pub fn coordinates(&self) -> usize {
        self.neutral.len()
    }

    /// Number of freedoms: the length of v, of forces and accelerations.
    pub fn freedoms(&self) -> usize {
        self.dof_node.len()
    }

    /// Number of links.
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// Joints, in the order of their coordinates; fixed ones are left out.
    pub fn joints(&self) -> &[JointPlace] {
        &self.joints
    }

    /// Coordinates of the pose as placed.
    pub fn neutral(&self) -> &[f64] {
        &self.neutral
    }

    /// The configuration in which the springs of the joints rest.
    pub fn spring_rest(&self) -> &[f64] {
        &self.spring_rest
    }

    /// Mass of all links \[kg\].
    pub fn total_mass(&self) -> f64 {
        self.links.iter().map(|link| link.mass).sum()
    }

    /// Armature of each dof \[kg·m² or kg\].
    pub fn armature(&self) -> &[f64] {
        &self.armature
    }

    /// Viscous damping of each dof \[N·m·s/rad or N·s/m\].
    pub fn damping(&self) -> &[f64] {
        &self.damping
    }

    /// Spring stiffness of each dof \[N·m/rad or N/m\].
    pub fn stiffness(&self) -> &[f64] {
        &self.stiffness
    }

    /// Largest dry friction of each dof \[N·m or N\].
    pub fn dry_friction(&self) -> &[f64] {
        &self.dry_friction
    }

    /// How many nodes there are, the world among them.
    pub(crate) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The dof before dof `d` on the path to the root, none at the root: the pattern of M.
    pub fn parent_dof(&self, d: usize) -> Option<usize> {
        let above = self.dof_parent[d];
        (above != NONE).then_some(above as usize)
    }

    /// Number of dofs on the path from the root to dof `d`, itself included.
    pub fn depth(&self, d: usize) -> usize {
        self.row[d + 1] - self.row[d]
    }

    /// The algorithm that takes less time: the factored mass matrix up to a mean depth of about four dofs.
    fn cheaper(&self) -> ForwardDynamics {
        let factored: f64 = (0..self.freedoms())
            .map(|d| {
                let depth = self.depth(d) as f64;
                ROW_COST * depth + UPDATE_COST * depth * depth
            })
            .sum();
        if factored < ELIMINATION_COST * self.freedoms() as f64 {
            ForwardDynamics::Factored
        } else {
            ForwardDynamics::Articulated
        }
    }

    /// Last dof on the path to a node, or [`NONE`].
    pub(super) fn last_dof(&self, node: u32) -> u32 {
        if node == 0 {
            return NONE;
        }
        let node = &self.nodes[node as usize];
        node.v + node.kind.freedoms() as u32 - 1
    }

    fn add_link(&mut self, links: &[Link], i: usize) -> Result<(), TreeError> {
        let link = &links[i];
        let R_0 = matrix(&renormalise(&link.placement.rotation));
        let mut stage = match link.parent {
            Some(parent) => {
                let LinkPlace { node, R, p, .. } = &self.links[parent];
                NodeFrame { node: *node, R: R * R_0, p: p + turn(R, &link.placement.position) }
            }
            None => NodeFrame { node: 0, R: R_0, p: link.placement.position },
        };
        for (number, joint) in link.joints.iter().enumerate() {
            if joint.kind == JointKind::Fixed {
                continue;
            }
            check_joint(link, joint, number)?;
            let (q, v) = (self.coordinates(), self.freedoms());
            self.add_nodes(&mut stage, link, joint);
            for _ in v..self.freedoms() {
                self.armature.push(joint.armature);
                self.damping.push(joint.damping);
                self.stiffness.push(joint.stiffness);
                self.dry_friction.push(joint.dry_friction);
            }
            self.joints.push(JointPlace {
                link: i,
                number,
                kind: joint.kind,
                q: q..self.coordinates(),
                v: v..self.freedoms(),
                limits: joint.limits,
            });
        }
        let place = &mut self.links[i];
        (place.node, place.R, place.p) = (stage.node, stage.R, stage.p);
        // The link's mass joins its node: Steiner about the node's origin, node axes.
        let node = &mut self.nodes[stage.node as usize];
        let c = stage.p + turn(&stage.R, &link.center);
        let about_origin = stage.R * link.inertia * stage.R.transpose() + link.mass * unit_inertia_at(&c);
        node.mass += link.mass;
        node.moment += link.mass * c;
        node.inertia = node.inertia.plus(&Sym3::from_matrix(&about_origin));
        node.massless &= link.mass == 0.0 && link.inertia == Mat3::zeros();
        Ok(())
    }

    /// The nodes of one joint, with the coordinates at rest.
    fn add_nodes(&mut self, stage: &mut NodeFrame, link: &Link, joint: &Joint) {
        let Pose { position, rotation } = &link.placement;
        let placement = Pose::new(*position, renormalise(rotation));
        for factor in joint.kind.factors() {
            let zero = Vec3::zeros();
            let (frame, anchor) = match factor.frame {
                JointFrame::World => {
                    // The coordinates are the pose itself: the placement is only their value at rest.
                    (stage.R, stage.p) = (Mat3::identity(), zero);
                    (Mat3::identity(), &zero)
                }
                JointFrame::Link => (Mat3::identity(), &joint.anchor),
                JointFrame::Axis => (aligned_frame(&joint.axis), &joint.anchor),
                JointFrame::SecondAxis => (aligned_frame(&joint.second_axis), &joint.anchor),
                JointFrame::Across(k) => {
                    (aligned_frame(&aligned_frame(&joint.axis).column(k).into_owned()), &joint.anchor)
                }
            };
            let (anchor, motion) = match factor.motion {
                MotionSubspace::Slide => (&zero, factor.motion),
                MotionSubspace::Screw(_) => (anchor, MotionSubspace::Screw(joint.kind.parameter())),
                motion => (anchor, motion),
            };
            let reference = if factor.frame == JointFrame::Axis { joint.reference } else { 0.0 };
            stage.push(self, motion, &frame, anchor, reference);
            factor.push_neutral(joint.reference, &placement, &mut self.neutral);
            factor.push_neutral(joint.spring_reference, &placement, &mut self.spring_rest);
        }
    }

    /// Every dof must move something that resists.
    fn check_weights(&self, links: &[Link]) -> Result<(), TreeError> {
        let mut resists: Vec<bool> = self.nodes.iter().map(|node| !node.massless).collect();
        for i in (1..self.nodes.len()).rev() {
            let armature = self.armature[self.nodes[i].v as usize];
            if !resists[i] && armature == 0.0 {
                let place =
                    self.joints.iter().find(|joint| joint.v.contains(&(self.nodes[i].v as usize))).cloned();
                let Some(JointPlace { link, number, .. }) = place else { continue };
                return Err(TreeError::Weightless {
                    link: links[link].name.clone(),
                    joint: links[link].joints[number].name.clone(),
                });
            }
            if resists[i] {
                resists[self.nodes[i].parent as usize] = true;
            }
        }
        Ok(())
    }
}
