//! Attributes of an element over those of its default classes.

use dalembert::math::rotation::{exp, from_matrix};
use dalembert::math::{Mat3, Pose, Quat, Vec3};
use nalgebra::Quaternion;

use super::super::xml::{Attribute, Document, Node, array, array_up_to, fill, numbers};
use super::compiler::Compiler;
use crate::error::{Span, quote};

/// An element and, nearest first, the elements of default classes that fill in what it leaves open.
pub(super) struct Attributes<'a> {
    pub(super) node: Node<'a>,
    pub(super) layers: Vec<Node<'a>>,
}

/// true, false, or what the range says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Limited {
    No,
    Yes,
    #[default]
    Auto,
}

const LIMITED: [(&str, Limited); 3] =
    [("false", Limited::No), ("true", Limited::Yes), ("auto", Limited::Auto)];
const SWITCH: [(&str, bool); 2] = [("false", false), ("true", true)];

impl<'a> Attributes<'a> {
    /// An element that no default class speaks about.
    pub(super) fn alone(node: Node<'a>) -> Self {
        node.element.read.set(true);
        Self { node, layers: Vec::new() }
    }

    pub(super) fn doc(&self) -> &'a Document {
        self.node.doc
    }

    pub(super) fn span(&self) -> Span {
        self.node.span()
    }

    /// The attribute, of the element or of the nearest class that has it. All of them count as read.
    pub(super) fn get(&self, name: &str) -> Option<&'a Attribute> {
        let own = self.node.attribute(name);
        self.layers.iter().fold(own, |found, layer| {
            let other = layer.attribute(name);
            found.or(other)
        })
    }

    /// The attribute, of the element or of the nearest class where it is not empty. Empty numbers say nothing, as in MuJoCo.
    pub(super) fn filled(&self, name: &str) -> Option<&'a Attribute> {
        let says = |node: Node<'a>| node.attribute(name).filter(|a| !a.value.trim().is_empty());
        self.layers.iter().fold(says(self.node), |found, layer| {
            let other = says(*layer);
            found.or(other)
        })
    }

    /// An attribute of the element itself.
    pub(super) fn own(&self, name: &str) -> Option<&'a Attribute> {
        self.node.attribute(name)
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.get(name).map(|a| a.value.as_str())
    }

    pub(super) fn name(&self) -> &'a str {
        self.node.text("name").unwrap_or_default()
    }

    pub(super) fn array<const N: usize>(&self, name: &str) -> Option<[f64; N]> {
        self.filled(name).and_then(|a| array(self.doc(), a))
    }

    pub(super) fn vector(&self, name: &str) -> Option<Vec3> {
        self.array::<3>(name).map(Vec3::from)
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.array(name).map(|[x]| x)
    }

    /// A number that must not be negative.
    pub(super) fn size(&self, name: &str) -> Option<f64> {
        let attribute = self.filled(name)?;
        let [x] = array::<1>(self.doc(), attribute)?;
        if x < 0.0 {
            let message = format!("{} is {x}; it must not be negative", quote(name));
            self.doc().error(attribute.value_span, message);
            return None;
        }
        Some(x)
    }

    /// At most N numbers over `start`.
    pub(super) fn up_to<const N: usize>(&self, name: &str, start: [f64; N]) -> [f64; N] {
        self.filled(name).and_then(|a| array_up_to(self.doc(), a, start)).unwrap_or(start)
    }

    /// At most N numbers, and how many.
    pub(super) fn some<const N: usize>(&self, name: &str) -> Option<([f64; N], usize)> {
        let mut out = [0.0; N];
        let count = fill(self.doc(), self.filled(name)?, &mut out, 1)?;
        Some((out, count))
    }

    /// Any number of numbers.
    pub(super) fn list(&self, name: &str) -> Option<Vec<f64>> {
        self.filled(name).and_then(|a| numbers(self.doc(), a))
    }

    pub(super) fn integer(&self, name: &str) -> Option<i32> {
        let attribute = self.filled(name)?;
        let value = attribute.value.trim().parse().ok();
        if value.is_none() {
            let message = format!("{} wants a whole number, found {}", quote(name), quote(&attribute.value));
            self.doc().error(attribute.value_span, message);
        }
        value
    }

    /// One of several words.
    pub(super) fn keyword<T: Copy>(&self, name: &str, words: &[(&'static str, T)]) -> Option<T> {
        self.get(name).and_then(|a| keyword(self.doc(), a, words))
    }

    pub(super) fn switch(&self, name: &str) -> Option<bool> {
        self.keyword(name, &SWITCH)
    }

    pub(super) fn limited(&self, name: &str) -> Limited {
        self.keyword(name, &LIMITED).unwrap_or_default()
    }

    /// Marks attributes as read that mean nothing to a simulation.
    pub(super) fn ignore(&self, names: &[&str]) {
        for name in names {
            self.get(name);
        }
    }

    pub(super) fn error(&self, message: impl Into<String>) {
        self.node.error(message);
    }

    /// The range, if a switch, or its presence, says that it counts.
    pub(super) fn range(
        &self,
        what: &str,
        limited: Limited,
        range: Option<[f64; 2]>,
        compiler: &Compiler,
    ) -> Option<[f64; 2]> {
        let proper = range.filter(|[low, high]| low < high);
        match limited {
            Limited::No => None,
            Limited::Yes if proper.is_none() => {
                let [low, high] = range.unwrap_or([0.0; 2]);
                self.error(format!(
                    "{} of {} is limited, but its range is {low} to {high}",
                    quote(what),
                    quote(self.name())
                ));
                None
            }
            Limited::Auto if !compiler.autolimits && proper.is_some() => {
                self.error(format!(
                    "{} has a range, but `autolimits` is off and it does not say whether it is limited",
                    quote(what)
                ));
                None
            }
            Limited::Auto => {
                if let Some([low, high]) = range.filter(|[low, high]| low > high) {
                    self.error(format!("{} runs from {low} to {high}", quote(what)));
                }
                proper
            }
            Limited::Yes => proper,
        }
    }

    /// `pos` and one of the five orientations.
    pub(super) fn pose(&self, compiler: &Compiler) -> Pose {
        Pose::new(self.vector("pos").unwrap_or_else(Vec3::zeros), self.rotation(compiler))
    }

    /// The orientation: that of the element, or of the nearest class that has one.
    pub(super) fn rotation(&self, compiler: &Compiler) -> Quat {
        let mut found: Option<Quat> = None;
        for node in std::iter::once(&self.node).chain(&self.layers) {
            let mut given = ["quat", "axisangle", "euler", "xyaxes", "zaxis"]
                .into_iter()
                .filter_map(|key| node.attribute(key).filter(|a| !a.value.trim().is_empty()))
                .collect::<Vec<_>>()
                .into_iter();
            if let Some(first) = given.next()
                && found.is_none()
            {
                found = rotation(self.doc(), first, compiler).or(Some(Quat::identity()));
                if let Some(second) = given.next() {
                    let message =
                        format!("two orientations: {} and {}", quote(&first.name), quote(&second.name));
                    self.doc().error(second.name_span, message);
                }
            }
        }
        found.unwrap_or_else(Quat::identity)
    }
}

/// One of several words.
pub(super) fn keyword<T: Copy>(
    doc: &Document,
    attribute: &Attribute,
    words: &[(&'static str, T)],
) -> Option<T> {
    let found = words.iter().find(|(word, _)| *word == attribute.value);
    if found.is_none() {
        let list: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let message = format!(
            "{} is {}; it must be one of {}",
            quote(&attribute.name),
            quote(&attribute.value),
            list.join(", ")
        );
        let error = doc.files.error(attribute.value_span, message);
        doc.push(error.with_suggestion(&attribute.value, list));
    }
    found.map(|(_, value)| *value)
}

/// What one of the five orientation attributes says.
fn rotation(doc: &Document, attribute: &Attribute, compiler: &Compiler) -> Option<Quat> {
    let zero = |what: &str| {
        doc.error(attribute.value_span, format!("{} has {what} of length zero", quote(&attribute.name)));
        None
    };
    match attribute.name.as_str() {
        "quat" => {
            let [w, x, y, z] = array(doc, attribute)?;
            unit(w, x, y, z).or_else(|| zero("a quaternion"))
        }
        "axisangle" => {
            let [x, y, z, angle] = array(doc, attribute)?;
            let Some(axis) = Vec3::new(x, y, z).try_normalize(1e-15) else { return zero("an axis") };
            Some(exp(&(axis * compiler.radians(angle))))
        }
        "euler" => {
            let angles: [f64; 3] = array(doc, attribute)?;
            Some(compiler.euler(angles))
        }
        "xyaxes" => {
            let [a, b, c, d, e, f] = array(doc, attribute)?;
            let Some(x) = Vec3::new(a, b, c).try_normalize(1e-15) else { return zero("an axis") };
            let y = Vec3::new(d, e, f);
            let Some(y) = (y - x * x.dot(&y)).try_normalize(1e-15) else {
                doc.error(attribute.value_span, "the two axes are parallel");
                return None;
            };
            Some(from_matrix(&Mat3::from_columns(&[x, y, x.cross(&y)])))
        }
        _ => {
            let z = Vec3::from(array::<3>(doc, attribute)?);
            let Some(z) = z.try_normalize(1e-15) else { return zero("an axis") };
            Some(turn_z_to(&z))
        }
    }
}

/// A quaternion of length 1, if it has a length.
pub(super) fn unit(w: f64, x: f64, y: f64, z: f64) -> Option<Quat> {
    let q = Quaternion::new(w, x, y, z);
    // First to a harmless size: squares of large numbers are not finite.
    let largest = q.coords.amax();
    if !(largest > 1e-15 && largest.is_finite()) {
        return None;
    }
    Some(Quat::from_quaternion(q / largest))
}

/// The smallest turn that brings the z axis to a unit vector.
pub(super) fn turn_z_to(z: &Vec3) -> Quat {
    let across = Vec3::z().cross(z);
    let sine = across.norm();
    let axis = if sine < 1e-10 { Vec3::x() } else { across / sine };
    exp(&(axis * sine.atan2(z.z)))
}
