//! `geom` and `site`.

use dalembert::bodies::articulated::description::{GeomShape, Inertial, RobotGeom, RobotSite};
use dalembert::math::rotation::matrix;
use dalembert::math::{Mat3, Pose, Vec3};

use super::super::solid::{self, MeshInertia};
use super::super::weigh::{self, Extent};
use super::super::xml::Attribute;
use super::super::{MeshPolicy, meshes};
use super::Model;
use super::assets::Mesh;
use super::attributes::{Attributes, turn_z_to};
use super::bodies::{Scope, Walker, Weight, softness};
use crate::error::quote;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plane,
    HeightField,
    Sphere,
    Capsule,
    Ellipsoid,
    Cylinder,
    Box,
    Mesh,
}

const KINDS: [(&str, Kind); 9] = [
    ("plane", Kind::Plane),
    ("hfield", Kind::HeightField),
    ("sphere", Kind::Sphere),
    ("capsule", Kind::Capsule),
    ("ellipsoid", Kind::Ellipsoid),
    ("cylinder", Kind::Cylinder),
    ("box", Kind::Box),
    ("mesh", Kind::Mesh),
    ("sdf", Kind::Mesh),
];

impl<'a> Walker<'a, '_> {
    pub(super) fn geom(
        &mut self,
        a: &Attributes<'a>,
        body: usize,
        frame: &Pose,
        scope: &Scope,
        model: &Model<'a>,
    ) {
        let kind = a.keyword("type", &KINDS).unwrap_or(Kind::Sphere);
        if a.text("type") == Some("sdf") {
            a.node.lost("signed distance fields are not read: the mesh is taken");
        }
        let contact_type = a.integer("contype").unwrap_or(1) as u32;
        let contact_affinity = a.integer("conaffinity").unwrap_or(1) as u32;
        let mass = a.size("mass");
        let density = a.number("density").unwrap_or(1000.0);
        let shell = a.switch("shellinertia").unwrap_or(false);
        let group = a.integer("group").unwrap_or(0);
        let dimension = a.integer("condim").unwrap_or(3);
        let field = a.filled("hfield");
        let mesh_attribute = a.filled("mesh");
        let mut pose = a.pose(&model.compiler);
        let fit_scale = a.number("fitscale").unwrap_or(1.0);

        // A mesh that is not there: an error if something depends on it.
        let mesh = match mesh_attribute {
            Some(attribute) => {
                let Some(mesh) = model.assets.mesh(self.doc, attribute) else { return };
                if let Err(reason) = &mesh.found {
                    self.drain(a);
                    if self.options.meshes == MeshPolicy::Skip {
                        return;
                    }
                    let visual = contact_type == 0 && contact_affinity == 0 && mass == Some(0.0);
                    if self.options.meshes == MeshPolicy::Require && !visual {
                        self.doc.error(attribute.value_span, reason.clone());
                    } else {
                        let message = format!("{reason}; the geom is left out");
                        self.doc.lost(self.doc.files.warning(attribute.value_span, message));
                    }
                    return;
                }
                Some(mesh)
            }
            None => None,
        };
        let shape = match self.shape(a, kind, mesh, (field, fit_scale), model, &mut pose) {
            Ok(shape) => shape,
            Err(message) => return a.error(message),
        };
        let Some(shape) = shape else {
            self.drain(a);
            return;
        };
        pose = frame.then(&pose);

        let weight = self.geom_inertial(&shape, mesh, shell, (mass, density), &pose);
        let mut geom = RobotGeom { pose, ..RobotGeom::new(scope.full(a.name()), shape) };
        geom.mass = weight.as_ref().map_or(0.0, |one| one.mass);
        self.masses[body].geoms.push(Weight { group, inertial: weight, span: a.span() });
        (geom.contact_type, geom.contact_affinity, geom.group) = (contact_type, contact_affinity, group);
        if matches!(dimension, 1 | 3 | 4 | 6) {
            geom.contact_dimension = dimension as u8;
        } else {
            a.error(format!("`condim` is {dimension}; it must be 1, 3, 4 or 6"));
        }
        geom.contact_priority = a.integer("priority").unwrap_or(0);
        geom.friction = a.up_to("friction", geom.friction);
        geom.softness = softness(a, "solref", "solimp");
        geom.softness_weight = a.number("solmix").unwrap_or(1.0);
        geom.margin = a.number("margin").unwrap_or(0.0);
        geom.gap = a.number("gap").unwrap_or(0.0);
        (geom.material, geom.color) = look(a, model);
        a.ignore(&["user"]);
        if a.text("fluidshape").is_some_and(|shape| shape != "none") {
            a.ignore(&["fluidcoef"]);
            a.node.lost("`fluidshape` is not carried");
        }
        for child in a.node.named("plugin") {
            super::schema::ignore(child);
            child.lost("plugins are not read");
        }
        let place = (body, self.robot.bodies[body].geoms.len());
        self.world.geoms.add(self.doc, &geom.name, place, a.span());
        self.robot.bodies[body].geoms.push(geom);
    }

    /// Mass and inertia of a geom in the frame of its body.
    fn geom_inertial(
        &self,
        shape: &GeomShape,
        mesh: Option<&Mesh>,
        shell: bool,
        (mass, density): (Option<f64>, f64),
        pose: &Pose,
    ) -> Result<Inertial, String> {
        let extent = match (shape, mesh) {
            (GeomShape::Mesh(_), Some(mesh)) if !shell => Some(mesh.extent.clone()),
            (GeomShape::Mesh(id), _) => {
                let mesh = &self.robot.meshes[id.0];
                Some(solid::extent(&mesh.vertices, &mesh.triangles, MeshInertia::Shell))
            }
            _ => weigh::extent(shape, shell).map(Ok),
        };
        match extent {
            None => Ok(Inertial::default()),
            _ if mass == Some(0.0) => Ok(Inertial::default()),
            Some(Err(reason)) => Err(reason),
            Some(Ok(extent)) => {
                let mass = mass.unwrap_or(density * extent.size);
                Ok(placed(&extent, mass, pose))
            }
        }
    }

    /// The shape of a geom; none if what it refers to is not there.
    fn shape(
        &self,
        a: &Attributes<'a>,
        kind: Kind,
        mesh: Option<&Mesh>,
        (field, fit_scale): (Option<&'a Attribute>, f64),
        model: &Model<'a>,
        pose: &mut Pose,
    ) -> Result<Option<GeomShape>, String> {
        let fitted = mesh.filter(|_| !matches!(kind, Kind::Mesh | Kind::Plane | Kind::HeightField));
        Ok(match (kind, mesh, fitted) {
            (_, _, Some(mesh)) => {
                if model.compiler.fit_bounds {
                    a.node.lost("`fitaabb` is not done: the shape is fitted to the inertia of the mesh");
                }
                a.ignore(&["size", "fromto"]);
                fit(kind, mesh, fit_scale, pose)
            }
            (Kind::Mesh, Some(mesh), _) => {
                a.ignore(&["size", "fromto"]);
                mesh.found.clone().ok().map(GeomShape::Mesh)
            }
            (Kind::Mesh, None, _) => {
                return Err(format!("geom {} needs the attribute `mesh`", quote(a.name())));
            }
            (Kind::HeightField, ..) => {
                a.ignore(&["size", "fromto"]);
                let Some(field) = field else {
                    return Err(format!("geom {} needs the attribute `hfield`", quote(a.name())));
                };
                model.assets.height_fields.find(self.doc, field).map(GeomShape::HeightField)
            }
            _ => primitive(a, kind, pose, None),
        })
    }

    pub(super) fn site(
        &mut self,
        a: &Attributes<'a>,
        body: usize,
        frame: &Pose,
        scope: &Scope,
        model: &Model<'a>,
    ) {
        let kind = a.keyword("type", &KINDS).unwrap_or(Kind::Sphere);
        if matches!(kind, Kind::Plane | Kind::HeightField | Kind::Mesh) {
            a.error("a site is a sphere, capsule, ellipsoid, cylinder or box");
            return;
        }
        let mut pose = a.pose(&model.compiler);
        let Some(shape) = primitive(a, kind, &mut pose, Some(0.005)) else { return };
        let (_, color) = look(a, model);
        let site = RobotSite {
            name: scope.full(a.name()),
            pose: frame.then(&pose),
            shape,
            group: a.integer("group").unwrap_or(0),
            color,
        };
        a.ignore(&["user"]);
        let place = (body, self.robot.bodies[body].sites.len());
        self.world.sites.add(self.doc, &site.name, place, a.span());
        self.robot.bodies[body].sites.push(site);
    }

    /// Marks the attributes of a geom that is left out as read.
    fn drain(&self, a: &Attributes<'a>) {
        for attribute in &a.node.element.attributes {
            attribute.read.set(true);
        }
    }
}

/// Material and colour.
fn look(a: &Attributes<'_>, model: &Model<'_>) -> (String, [f64; 4]) {
    let material = a.text("material").unwrap_or_default();
    let own = a.array::<4>("rgba");
    let color = own.or_else(|| model.assets.materials.get(material).copied());
    (material.to_owned(), color.unwrap_or([0.5, 0.5, 0.5, 1.0]))
}

/// Mass and inertia of a shape at a pose, in the axes of the body.
fn placed(extent: &Extent, mass: f64, pose: &Pose) -> Inertial {
    let turn = matrix(&pose.rotation);
    let inertia: Mat3 = turn * (mass * extent.inertia) * turn.transpose();
    Inertial { mass, center: pose.point(&extent.center), inertia: 0.5 * (inertia + inertia.transpose()) }
}

/// A shape from `size` and, if given, `fromto`, which also moves the pose.
fn primitive(a: &Attributes<'_>, kind: Kind, pose: &mut Pose, fallback: Option<f64>) -> Option<GeomShape> {
    let (mut size, mut count) = match a.some::<3>("size") {
        Some(given) => given,
        None if a.filled("size").is_some() => return None,
        None => ([fallback.unwrap_or(0.0); 3], if fallback.is_some() { 3 } else { 0 }),
    };
    if let (Some(fallback), true) = (fallback, count < 3) {
        size[count..].fill(fallback);
        count = 3;
    }
    if let Some(ends) = a.filled("fromto") {
        let [ax, ay, az, bx, by, bz] = super::super::xml::array(a.doc(), ends)?;
        let (from, to) = (Vec3::new(ax, ay, az), Vec3::new(bx, by, bz));
        let along = from - to;
        let length = along.norm();
        let round = matches!(kind, Kind::Capsule | Kind::Cylinder | Kind::Ellipsoid | Kind::Box);
        if !round {
            a.error("`fromto` is for capsules, cylinders, ellipsoids and boxes");
            return None;
        }
        if !(length > 1e-15 && length.is_finite()) {
            a.doc().error(ends.value_span, format!("the ends of `fromto` are {length} m apart"));
            return None;
        }
        *pose = Pose::new(0.5 * (from + to), turn_z_to(&(along / length)));
        if matches!(kind, Kind::Capsule | Kind::Cylinder) {
            size = [size[0], 0.5 * length, 0.0];
            count = count.max(1) + 1;
        } else {
            size = [size[0], size[0], 0.5 * length];
            count = 3;
        }
    }
    let needed = match kind {
        Kind::Sphere => 1,
        Kind::Capsule | Kind::Cylinder => 2,
        Kind::Ellipsoid | Kind::Box | Kind::Plane => 3,
        Kind::HeightField | Kind::Mesh => 0,
    };
    let name = KINDS.iter().find(|(_, k)| *k == kind).map_or("", |(name, _)| name);
    if count < needed {
        a.error(format!("`size` of a {name} wants {needed} numbers, found {count}"));
        return None;
    }
    let bad = size[..needed].iter().find(|x| !(**x > 0.0));
    if let Some(bad) = bad.filter(|_| kind != Kind::Plane) {
        a.error(format!("`size` of a {name} must be positive, found {bad}"));
        return None;
    }
    Some(match kind {
        Kind::Plane => GeomShape::Plane { half: [size[0].max(0.0), size[1].max(0.0)] },
        Kind::Sphere => GeomShape::Sphere { radius: size[0] },
        Kind::Capsule => GeomShape::Capsule { radius: size[0], half_length: size[1] },
        Kind::Cylinder => GeomShape::Cylinder { radius: size[0], half_length: size[1] },
        Kind::Ellipsoid => GeomShape::Ellipsoid { semi_axes: Vec3::from(size) },
        Kind::Box | Kind::HeightField | Kind::Mesh => GeomShape::Box { half: Vec3::from(size) },
    })
}

/// A simple shape with about the inertia of a mesh.
fn fit(kind: Kind, mesh: &Mesh, scale: f64, pose: &mut Pose) -> Option<GeomShape> {
    let extent = mesh.extent.as_ref().ok()?;
    let frame = meshes::principal_frame(extent);
    let turn = matrix(&frame.rotation);
    let moments = (turn.transpose() * extent.inertia * turn).diagonal();
    // Half sizes of the box of the same inertia: I₁ = (b² + c²)/3 for half sizes b, c.
    let half = moments.map(|moment| (1.5 * (moments.sum() - 2.0 * moment)).max(0.0).sqrt()) * scale;
    *pose = pose.then(&frame);
    let (radius, long) = (0.5 * (half.x + half.y), half.z);
    Some(match kind {
        Kind::Sphere => GeomShape::Sphere { radius: half.mean() },
        Kind::Capsule => GeomShape::Capsule { radius, half_length: (long - 0.5 * radius).max(0.0) },
        Kind::Cylinder => GeomShape::Cylinder { radius, half_length: long },
        Kind::Ellipsoid => GeomShape::Ellipsoid { semi_axes: half },
        _ => GeomShape::Box { half },
    })
}
