//! `actuator`: the general one and its shortcuts.
//!
//! As in MuJoCo all of them, and all their defaults in a class, write into one set of numbers; a shortcut is a way to
//! set gain, bias and dynamics.

use std::f64::consts::PI;

use dalembert::bodies::articulated::description::{Actuator, ActuatorDynamics, ActuatorLaw, Transmission};

use super::super::xml::{Attribute, Node};
use super::Model;
use super::attributes::{Attributes, Limited};
use super::classes::{ClassId, Classes};
use super::sections::Refer;
use crate::error::quote;

/// The elements of `actuator` that are read.
pub(super) const TAGS: [&str; 9] =
    ["general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Dynamics {
    None,
    Integrator,
    Filter,
    FilterExact,
    Muscle,
    User,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Law {
    None,
    Fixed,
    Affine,
    Muscle,
    User,
}

#[derive(Clone)]
struct Numbers {
    control_limited: Limited,
    force_limited: Limited,
    activation_limited: Limited,
    control: Option<[f64; 2]>,
    force: Option<[f64; 2]>,
    activation: Option<[f64; 2]>,
    length: Option<[f64; 2]>,
    gear: [f64; 6],
    dynamics: Dynamics,
    gain: Law,
    bias: Law,
    dynamics_numbers: [f64; 10],
    gain_numbers: [f64; 10],
    bias_numbers: [f64; 10],
    /// Share of the joint's range that the control range takes over.
    inherit: f64,
    early: bool,
    armature: f64,
    group: i32,
}

impl Default for Numbers {
    fn default() -> Self {
        let mut one = [0.0; 10];
        one[0] = 1.0;
        Self {
            control_limited: Limited::Auto,
            force_limited: Limited::Auto,
            activation_limited: Limited::Auto,
            control: None,
            force: None,
            activation: None,
            length: None,
            gear: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            dynamics: Dynamics::None,
            gain: Law::Fixed,
            bias: Law::None,
            dynamics_numbers: one,
            gain_numbers: one,
            bias_numbers: [0.0; 10],
            inherit: 0.0,
            early: false,
            armature: 0.0,
            group: 0,
        }
    }
}

impl Numbers {
    /// What the class says.
    fn of_class(classes: &Classes<'_>, class: ClassId) -> Self {
        let mut layers: Vec<Node<'_>> = Vec::new();
        classes.each_nearest_first(class, |node| {
            if TAGS.contains(&node.name()) {
                layers.push(node);
            }
        });
        let mut numbers = Self::default();
        for node in layers.into_iter().rev() {
            numbers.apply(&Attributes::alone(node));
        }
        numbers
    }

    /// What an element or default says.
    fn apply(&mut self, a: &Attributes<'_>) {
        let limited = |key: &str, old: Limited| if a.own(key).is_some() { a.limited(key) } else { old };
        self.control_limited = limited("ctrllimited", self.control_limited);
        self.force_limited = limited("forcelimited", self.force_limited);
        self.activation_limited = limited("actlimited", self.activation_limited);
        self.control = a.array("ctrlrange").or(self.control);
        self.force = a.array("forcerange").or(self.force);
        self.activation = a.array("actrange").or(self.activation);
        self.length = a.array("lengthrange").or(self.length);
        self.gear = a.up_to("gear", self.gear);
        self.early = a.switch("actearly").unwrap_or(self.early);
        self.armature = a.size("armature").unwrap_or(self.armature);
        self.group = a.integer("group").unwrap_or(self.group);
        a.ignore(&["user"]);
        match a.node.name() {
            "general" => self.general(a),
            "motor" => {
                self.gain_numbers = [0.0; 10];
                self.gain_numbers[0] = 1.0;
                self.bias_numbers = [0.0; 10];
                (self.dynamics, self.gain, self.bias) = (Dynamics::None, Law::Fixed, Law::None);
            }
            "position" | "intvelocity" => self.position(a),
            "velocity" => {
                let kv = a.size("kv").unwrap_or(self.gain_numbers[0]);
                self.gain_numbers[0] = kv;
                self.bias_numbers = [0.0; 10];
                self.bias_numbers[2] = -kv;
                (self.dynamics, self.gain, self.bias) = (Dynamics::None, Law::Fixed, Law::Affine);
            }
            "damper" => {
                let kv = a.size("kv").unwrap_or(0.0);
                self.gain_numbers = [0.0; 10];
                self.gain_numbers[2] = -kv;
                self.control_limited = Limited::Yes;
                (self.dynamics, self.gain, self.bias) = (Dynamics::None, Law::Affine, Law::None);
            }
            "cylinder" => {
                if let Some(time) = a.size("timeconst") {
                    self.dynamics_numbers[0] = time;
                }
                let bias = a.array::<3>("bias");
                if let Some(bias) = bias {
                    self.bias_numbers[..3].copy_from_slice(&bias);
                }
                let diameter = a.size("diameter").map(|d| 0.25 * PI * d * d);
                if let Some(area) = diameter.or(a.size("area")) {
                    self.gain_numbers[0] = area;
                }
                (self.dynamics, self.gain, self.bias) = (Dynamics::Filter, Law::Fixed, Law::Affine);
            }
            "adhesion" => {
                self.gain_numbers[0] = a.size("gain").unwrap_or(self.gain_numbers[0]);
                (self.dynamics, self.gain, self.bias) = (Dynamics::None, Law::Fixed, Law::None);
            }
            _ => self.muscle(a),
        }
    }

    /// Position servo, and the one that integrates a velocity.
    fn position(&mut self, a: &Attributes<'_>) {
        let kp = a.size("kp").unwrap_or(self.gain_numbers[0]);
        self.gain_numbers[0] = kp;
        self.bias_numbers[1] = -kp;
        let (kv, ratio) = (a.size("kv"), a.size("dampratio"));
        if kv.is_some() && ratio.is_some() {
            a.error("`kv` and `dampratio` are both given");
        }
        // A positive number stands for a damping ratio.
        if let Some(kv) = kv {
            self.bias_numbers[2] = -kv;
        } else if let Some(ratio) = ratio {
            self.bias_numbers[2] = ratio;
        }
        self.inherit = a.size("inheritrange").unwrap_or(self.inherit);
        (self.gain, self.bias) = (Law::Fixed, Law::Affine);
        if a.node.name() == "intvelocity" {
            self.dynamics = Dynamics::Integrator;
        } else if let Some(time) = a.size("timeconst") {
            self.dynamics_numbers[0] = time;
            self.dynamics = if time > 0.0 { Dynamics::FilterExact } else { Dynamics::None };
        }
    }

    fn muscle(&mut self, a: &Attributes<'_>) {
        let time = a.up_to("timeconst", [0.01, 0.04]);
        let smooth = a.number("tausmooth").unwrap_or(0.0);
        self.dynamics_numbers[..3].copy_from_slice(&[time[0], time[1], smooth]);
        let range = a.array::<2>("range").unwrap_or([0.75, 1.05]);
        self.gain_numbers[..2].copy_from_slice(&range);
        let rest = [
            ("force", -1.0),
            ("scale", 200.0),
            ("lmin", 0.5),
            ("lmax", 1.6),
            ("vmax", 1.5),
            ("fpmax", 1.3),
            ("fvmax", 1.2),
        ];
        for (k, (key, usual)) in rest.into_iter().enumerate() {
            self.gain_numbers[2 + k] = a.number(key).unwrap_or(usual);
        }
        self.bias_numbers = self.gain_numbers;
        (self.dynamics, self.gain, self.bias) = (Dynamics::Muscle, Law::Muscle, Law::Muscle);
    }

    fn general(&mut self, a: &Attributes<'_>) {
        let dynamics = [
            ("none", Dynamics::None),
            ("integrator", Dynamics::Integrator),
            ("filter", Dynamics::Filter),
            ("filterexact", Dynamics::FilterExact),
            ("muscle", Dynamics::Muscle),
            ("user", Dynamics::User),
        ];
        let laws = [
            ("none", Law::None),
            ("fixed", Law::Fixed),
            ("affine", Law::Affine),
            ("muscle", Law::Muscle),
            ("user", Law::User),
        ];
        self.dynamics = a.keyword("dyntype", &dynamics).unwrap_or(self.dynamics);
        self.gain = a.keyword("gaintype", &laws).unwrap_or(self.gain);
        self.bias = a.keyword("biastype", &laws).unwrap_or(self.bias);
        self.dynamics_numbers = a.up_to("dynprm", self.dynamics_numbers);
        self.gain_numbers = a.up_to("gainprm", self.gain_numbers);
        self.bias_numbers = a.up_to("biasprm", self.bias_numbers);
    }
}

fn law(law: Law, numbers: [f64; 10]) -> ActuatorLaw {
    match law {
        Law::None => ActuatorLaw::None,
        Law::Fixed => ActuatorLaw::Fixed(numbers[0]),
        Law::Affine => ActuatorLaw::Affine([numbers[0], numbers[1], numbers[2]]),
        Law::Muscle => ActuatorLaw::Muscle(numbers),
        Law::User => ActuatorLaw::User(numbers),
    }
}

/// Reads one actuator.
pub(super) fn read<'a>(
    node: Node<'a>,
    model: &Model<'a>,
    refer: &Refer<'_>,
    ranges: &impl Fn(&Transmission) -> Option<[f64; 2]>,
) -> Option<Actuator> {
    let a = Attributes::alone(node);
    let class = model.classes.class_of(node, Classes::MAIN);
    let mut numbers = Numbers::of_class(&model.classes, class);
    numbers.apply(&a);
    let transmission = transmission(&a, refer)?;
    if matches!(node.name(), "muscle" | "adhesion")
        || numbers.gain == Law::User
        || numbers.dynamics == Dynamics::User
    {
        node.lost(format!("{} is carried, but not simulated", quote(node.name())));
    }
    let time = numbers.dynamics_numbers[0];
    let dynamics = match numbers.dynamics {
        Dynamics::None => ActuatorDynamics::None,
        Dynamics::Integrator => ActuatorDynamics::Integrator,
        Dynamics::Filter => ActuatorDynamics::Filter { time },
        Dynamics::FilterExact => ActuatorDynamics::FilterExact { time },
        Dynamics::Muscle => ActuatorDynamics::Muscle(numbers.dynamics_numbers),
        Dynamics::User => ActuatorDynamics::User(numbers.dynamics_numbers),
    };
    // An affine bias with a positive number of velocity is a damping ratio, if it is a position servo otherwise.
    let mut bias = numbers.bias_numbers;
    let servo =
        numbers.bias == Law::Affine && numbers.gain == Law::Fixed && bias[1] == -numbers.gain_numbers[0];
    let damping_ratio = (servo && bias[2] > 0.0).then(|| std::mem::take(&mut bias[2]));
    let compiler = &model.compiler;
    let mut control = a.range("ctrlrange", numbers.control_limited, numbers.control, compiler);
    let mut activation = a.range("actrange", numbers.activation_limited, numbers.activation, compiler);
    if numbers.inherit > 0.0 {
        match ranges(&transmission) {
            Some([low, high]) => {
                let (middle, reach) = (0.5 * (low + high), 0.5 * (high - low) * numbers.inherit);
                let range = Some([middle - reach, middle + reach]);
                if numbers.dynamics == Dynamics::Integrator { activation = range } else { control = range }
            }
            None => a.error("`inheritrange` needs a joint or tendon with a range"),
        }
    }
    Some(Actuator {
        name: refer.scope.full(a.name()),
        transmission,
        gear: numbers.gear,
        dynamics,
        gain: law(numbers.gain, numbers.gain_numbers),
        bias: law(numbers.bias, bias),
        damping_ratio,
        control_range: control,
        force_range: a.range("forcerange", numbers.force_limited, numbers.force, compiler),
        activation_range: activation,
        length_range: numbers.length,
        activation_early: numbers.early,
        armature: numbers.armature,
        group: numbers.group,
    })
}

fn transmission(a: &Attributes<'_>, refer: &Refer<'_>) -> Option<Transmission> {
    let keys = ["joint", "jointinparent", "tendon", "site", "slidersite", "body"];
    let given: Vec<&Attribute> = keys.iter().filter_map(|key| a.own(key)).collect();
    let [one] = given[..] else {
        let name = quote(a.name());
        if given.is_empty() {
            a.error(format!("actuator {name} needs one of {}", keys.join(", ")));
        } else {
            let list: Vec<String> = given.iter().map(|a| quote(&a.name)).collect();
            a.error(format!("actuator {name} has several transmissions: {}", list.join(", ")));
        }
        return None;
    };
    Some(match one.name.as_str() {
        "joint" => Transmission::Joint(refer.joint(one)?),
        "jointinparent" => Transmission::JointInParent(refer.joint(one)?),
        "tendon" => Transmission::Tendon(refer.tendon(one)?),
        "body" => Transmission::Body(refer.body(one)?),
        "site" => {
            let reference = match a.own("refsite") {
                Some(attribute) => Some(refer.site(attribute)?),
                None => None,
            };
            Transmission::Site { site: refer.site(one)?, reference }
        }
        _ => {
            let crank = a.node.required("cranksite")?;
            let length = a.size("cranklength").unwrap_or(0.0);
            if !(length > 0.0) {
                a.error(format!("`cranklength` is {length} m; it must be positive"));
            }
            Transmission::SliderCrank { crank: refer.site(crank)?, slider: refer.site(one)?, length }
        }
    })
}
