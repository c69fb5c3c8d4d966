//! Settings of the methods.

use super::diagnostics::Diagnostics;
use crate::describe::short::*;
use crate::describe::{Field, Findings, Key, Kind, Table, TableKey, View, Word, Words, table, words};
use crate::solve::linear::{LinearSolver, Preconditioner};
use crate::step::{
    Explicit, Impacts, Implicit, Impulse, Integrator, Ipc, Lagrange, Method, RowSolver, Scheme,
};

/// The methods.
pub(super) const METHODS: Kind = Kind::Word(&[
    Word::new(
        "explicit",
        "Explicit integration of M v̇ = f, joints as spring-dampers; its settings are in `explicit`.",
    ),
    Word::new("lagrange", "Joints exact, by multipliers at the acceleration level; settings in `lagrange`."),
    Word::new(
        "impulse",
        "Joints hard or soft and contact with friction, at the velocity level; settings in `impulse`.",
    ),
    Word::new(
        "implicit",
        "Forces at the end of the step, for stiff and soft things, joints as spring-dampers; settings in `implicit`.",
    ),
    Word::new(
        "ipc",
        "One minimisation per step, with contact in which nothing ever intersects; rigid bodies run as stiff affine ones; settings in `ipc`.",
    ),
]);

words! {
    for Integrator {
        /// Explicit Euler, order 1; gains energy.
        Euler = "euler",
        /// Kick, then drift: order 1, symplectic; the fastest.
        SymplecticEuler = "symplectic_euler",
        /// Midpoint rule, order 2.
        Midpoint = "midpoint",
        /// Velocity Verlet (leapfrog), order 2, symplectic.
        Verlet = "verlet",
        /// Classical Runge–Kutta, order 4.
        Rk4 = "rk4",
        /// Euler with step doubling, adaptive.
        EulerDoubling = "euler_doubling",
        /// Dormand–Prince 5(4), adaptive.
        DormandPrince = "dormand_prince",
    }
}

words! {
    for Scheme {
        /// Implicit Euler: order 1, damps what it cannot follow.
        Euler = "euler",
        /// Second backward difference: order 2, damps fast motion.
        Bdf2 = "bdf2",
        /// Implicit midpoint: order 2, damps nothing.
        Midpoint = "midpoint",
        /// Trapezoid rule: order 2, damps nothing.
        Trapezoid = "trapezoid",
        /// Newmark's average acceleration: the trapezoid rule under another name.
        Trapezoid = "newmark",
        /// Equilibrium at every step, no motion.
        Static = "static",
    }
}

words! {
    for Impacts {
        /// One contact after the other, in turn, until none approaches.
        Sequential = "sequential",
        /// All at once, by a linear complementarity problem.
        Simultaneous = "simultaneous",
        /// Always the contact that approaches fastest, until none does.
        Chain = "chain",
    }
}

const IPC_SCHEMES: Kind = Kind::Word(&[
    Word::new("euler", "Implicit Euler: order 1, damps what it cannot follow."),
    Word::new("bdf2", "Second backward difference: order 2, damps fast motion."),
    Word::new("static", "Equilibrium at every step, no motion."),
]);

words! {
    for Preconditioner {
        /// Plain conjugate gradients.
        None = "none",
        /// The inverse of each 3×3 block on the diagonal.
        BlockJacobi = "block_jacobi",
        /// Incomplete factors of 3×3 blocks.
        IncompleteCholesky = "incomplete_cholesky",
        /// Incomplete factors, and a coarse solve for slow, wide motions.
        TwoLevel = "two_level",
    }
}

const LINEAR_SOLVERS: Kind = Kind::Word(&[
    Word::new("automatic", "By size and shape of the system."),
    Word::new("cg", "Conjugate gradients that never see a matrix, with a `preconditioner`."),
    Word::new("direct", "Sparse Cholesky factorisation."),
]);

const SOLVERS: Kind = Kind::Word(&[
    Word::new("direct", "Sparse factorisation: exact, linear time for trees."),
    Word::new("pgs", "Projected Gauss–Seidel with `sweeps` sweeps, for comparison."),
]);

/// A time that never comes if it is not given.
struct OrNever(f64);

impl From<OrNever> for f64 {
    fn from(time: OrNever) -> Self {
        time.0
    }
}

impl Key for OrNever {
    fn read(t: &View<'_>, key: &'static str, _: &mut Findings) -> Option<Self> {
        Some(Self(t.maybe_number(key).unwrap_or(f64::INFINITY)))
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self(f64::INFINITY)
    }
}

const SLEEP_SPEED: Field = Field::new(
    "sleep_speed",
    POSITIVE,
    number(1e-3),
    "m/s",
    "A body is at rest while no point of it is faster than this.",
);

table! {
    //////////// tables
    /// Settings of the method `explicit`.
    for Explicit: "explicit" {
        /// The integrator.
        integrator: Integrator = word("symplectic_euler"), Integrator::KIND, "";
        /// Error allowed per inner step of an adaptive integrator, absolute and relative alike.
        tolerance: f64 = number(1e-6), POSITIVE, "";
        /// Smallest inner step of an adaptive integrator.
        min_step: f64 = number(1e-12), POSITIVE, "s";
    }
    check adaptive
}

table! {
    /// Settings of the method `lagrange`.
    for Lagrange: "lagrange" {
        /// The integrator: any but the symplectic ones.
        integrator: Integrator = word("rk4"), Integrator::KIND, "";
        /// Error allowed per inner step of an adaptive integrator, absolute and relative alike.
        tolerance: f64 = number(1e-9), POSITIVE, "";
        /// Smallest inner step of an adaptive integrator.
        min_step: f64 = number(1e-12), POSITIVE, "s";
        /// Project positions and velocities onto the joints after each step.
        projection: bool = TRUE, BOOL, "";
        /// Baumgarte's rate α: joints obey C̈ = −2α Ċ − α² C.
        baumgarte: f64 = number(0.0), NOT_NEGATIVE, "1/s";
        /// Coefficient of friction of contacts where no rule says otherwise.
        friction: f64 = number(0.0), NOT_NEGATIVE, "";
        /// Coefficient of restitution where no rule says otherwise.
        restitution: f64 = number(0.0), NOT_NEGATIVE, "";
        /// Rule for impacts at the same moment.
        impacts: Impacts = word("sequential"), Impacts::KIND, "";
        /// Bounces slower than this come to rest, and what slides slower sticks.
        rest_speed: f64 = number(1e-5), POSITIVE, "m/s";
    }
    check adaptive
}

/// Warns about settings that an integrator does not use.
fn adaptive(t: &View<'_>, out: &mut Findings) {
    let Some(integrator) = t.item::<Integrator>("integrator").filter(|i| !i.is_adaptive()) else { return };
    for key in ["tolerance", "min_step"].into_iter().filter(|key| t.has(key)) {
        let name = integrator.name();
        let message = format!("`{key}` has no effect: the integrator `{name}` does not adapt its steps");
        out.warn(t.key_span(key), message);
    }
}

/// Keys of the solver of joints.
const ROW_SOLVER: &[Field] = &[
    Field::new("solver", SOLVERS, word("direct"), "", "Solver of the joints."),
    Field::new("sweeps", integer(1, 1_000_000), whole(50), "", "Sweeps over all rows of `pgs`."),
];

table! {
    /// Settings of the method `impulse`.
    for Impulse: "impulse" {
        /// Solver of the joints.
        solver: RowSolver = ROW_SOLVER;
        /// Equal inner steps per step.
        substeps: u32 = whole(1), integer(1, 1_000_000), "";
        /// Project positions onto exact joints after each inner step.
        projection: bool = TRUE, BOOL, "";
        /// Coefficient of friction where no rule and no material says otherwise.
        friction: f64 = number(0.5), NOT_NEGATIVE, "";
        /// Coefficient of restitution where no rule and no material says otherwise.
        restitution: f64 = number(0.0), NOT_NEGATIVE, "";
        /// Impacts slower than this do not bounce.
        bounce_speed: f64 = number(0.02), NOT_NEGATIVE, "m/s";
        /// Things that overlap are parted no faster than this.
        push_speed: f64 = number(2.0), POSITIVE, "m/s";
        /// Contacts are solved until a sweep moves no relative velocity by more than this part of the fastest
        /// change of the step.
        tolerance: f64 = number(1e-6), POSITIVE, "";
        /// Most sweeps over the contacts.
        most_sweeps as "contact_sweeps": u32 = whole(200), integer(1, 1_000_000), "";
        /// Islands of contacts that have been at rest for this long fall asleep; never if absent.
        sleep_after: OrNever = OPTIONAL, POSITIVE, "s";
        /// What is at rest.
        sleep_speed: f64 = &[SLEEP_SPEED];
    }
    check sleep
}

impl Key for RowSolver {
    fn read(t: &View<'_>, _: &'static str, out: &mut Findings) -> Option<Self> {
        if t.text("solver") == "pgs" {
            return Some(Self::Pgs { sweeps: t.item("sweeps")? });
        }
        if t.has("sweeps") {
            out.warn(t.key_span("sweeps"), "`sweeps` has no effect: the solver `direct` does not sweep");
        }
        Some(Self::Direct)
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::Direct
    }
}

/// Warns about a speed of falling asleep where nothing does.
fn sleep(t: &View<'_>, out: &mut Findings) {
    if t.has("sleep_speed") && !t.has("sleep_after") {
        let message = "`sleep_speed` has no effect without `sleep_after`: nothing falls asleep";
        out.warn(t.key_span("sleep_speed"), message);
    }
}

/// Keys of linear solvers.
const SOLVER: &[Field] = &[
    Field::new("solver", LINEAR_SOLVERS, word("automatic"), "", "How linear systems are solved."),
    Field::new("preconditioner", Preconditioner::KIND, word("two_level"), "", "What helps the solver `cg`."),
    Field::new(
        "linear_tolerance",
        POSITIVE,
        number(1e-8),
        "",
        "The solver `cg` stops when the residual is this part of the right-hand side, both mass-weighted.",
    ),
    Field::new(
        "iterations",
        integer(1, 10_000_000),
        whole(10_000),
        "",
        "Most iterations of the solver `cg`.",
    ),
];
const IPC_SOLVER: &[Field] = &[
    Field::new(
        "solver",
        LINEAR_SOLVERS,
        word("automatic"),
        "",
        "How linear systems are solved: `cg` with a coarse solve over the rigid motions of all bodies.",
    ),
    Field::new(
        "linear_tolerance",
        POSITIVE,
        number(1e-4),
        "",
        "Conjugate gradients stop when the residual is this part of the right-hand side.",
    ),
];

impl Key for LinearSolver {
    fn read(t: &View<'_>, _: &'static str, out: &mut Findings) -> Option<Self> {
        let tolerance = t.number("linear_tolerance");
        let solver = t.text("solver");
        let unused: &[&str] = match solver {
            "cg" => &[],
            "direct" => &["preconditioner", "iterations", "linear_tolerance"],
            _ => &["preconditioner", "iterations"],
        };
        for key in unused.iter().filter(|key| t.gives(key)) {
            let message = format!("`{key}` has no effect: the solver `{solver}` does not use it");
            out.warn(t.key_span(key), message);
        }
        let knows = |key: &str| t.description().field(key).is_some();
        Some(match solver {
            "cg" if knows("iterations") => Self::Cg {
                preconditioner: t.item("preconditioner")?,
                tolerance,
                most_iterations: t.item("iterations")?,
            },
            "cg" => Self::Cg { preconditioner: Preconditioner::TwoLevel, tolerance, most_iterations: 10_000 },
            "direct" => Self::Direct,
            _ => Self::Automatic { tolerance },
        })
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::default()
    }
}

table! {
    /// Settings of the method `implicit`.
    for Implicit: "implicit" {
        /// The scheme.
        scheme: Scheme = word("euler"), Scheme::KIND, "";
        /// Most Newton iterations per step; with 1 the forces are linearised once per step. 0: 1 for `euler`, 20
        /// for schemes of order 2, 100 for `static`.
        newton: u32 = whole(0), integer(0, 10_000), "";
        /// Newton stops when the residual is this part of the forces.
        tolerance: f64 = number(1e-9), POSITIVE, "";
        /// How linear systems are solved.
        solver: LinearSolver = SOLVER;
        /// Rayleigh damping by mass: forces −α M v.
        rayleigh_mass: f64 = number(0.0), NOT_NEGATIVE, "1/s";
        /// Rayleigh damping by stiffness: forces −β K v.
        rayleigh_stiffness: f64 = number(0.0), NOT_NEGATIVE, "s";
    }
    finish one_iteration
}

/// Warns about a tolerance where nothing is repeated.
fn one_iteration(implicit: Implicit, t: &View<'_>, out: &mut Findings) -> Implicit {
    if t.has("tolerance") && implicit.most_newton() == 1 {
        let message = "`tolerance` has no effect: with one Newton iteration per step nothing is repeated";
        out.warn(t.key_span("tolerance"), message);
    }
    implicit
}

table! {
    //////////// contact_tables
    /// Settings of the method `ipc`.
    for Ipc: "ipc" {
        /// The scheme.
        scheme: Scheme = word("euler"), IPC_SCHEMES, "";
        /// Newton stops when no point would move faster than this.
        tolerance: f64 = number(1e-3), POSITIVE, "m/s";
        /// Most Newton iterations per step.
        most_newton as "newton": u32 = whole(200), integer(1, 100_000), "";
        /// How linear systems are solved.
        solver: LinearSolver = IPC_SOLVER;
        /// Contact begins at this distance, beyond thicknesses; 1 mm or a hundredth of the diagonal of the
        /// smallest body, whichever is less, if absent.
        gap: Option<f64> = OPTIONAL, POSITIVE, "m";
        /// Coefficient of friction of pairs without a rule in `contact`.
        friction: f64 = number(0.0), NOT_NEGATIVE, "";
        /// Speed below which friction is smoothed: what sticks creeps slower than this.
        friction_speed: f64 = number(1e-3), POSITIVE, "m/s";
        /// How often a step is solved with normal forces and directions of friction taken anew.
        friction_passes: u32 = whole(2), integer(1, 1000), "";
        /// Stiffness of contact as a multiple of mass/dt²; of the penalties, of 300 effective masses/dt².
        contact_stiffness: f64 = number(1.0), POSITIVE, "";
        /// Stiffness of rigid bodies, which run as affine ones.
        rigid_stiffness: f64 = number(1e9), POSITIVE, "Pa";
        /// Islands that have been at rest for this long fall asleep; never if absent.
        sleep_after: OrNever = OPTIONAL, POSITIVE, "s";
        /// What is at rest.
        sleep_speed: f64 = &[SLEEP_SPEED];
    }
    check sleep
}

/// Keys of the settings of all methods.
pub(super) const SETTINGS: &[Field] = &[
    Field::optional(
        "explicit",
        Kind::Table(const { &Explicit::TABLE }),
        "",
        "Settings of the method `explicit`.",
    ),
    Field::optional(
        "lagrange",
        Kind::Table(const { &Lagrange::TABLE }),
        "",
        "Settings of the method `lagrange`.",
    ),
    Field::optional(
        "impulse",
        Kind::Table(const { &Impulse::TABLE }),
        "",
        "Settings of the method `impulse`.",
    ),
    Field::optional(
        "implicit",
        Kind::Table(const { &Implicit::TABLE }),
        "",
        "Settings of the method `implicit`.",
    ),
    Field::optional("ipc", Kind::Table(const { &Ipc::TABLE }), "", "Settings of the method `ipc`."),
];

/// All methods, each with the settings that the file gives it.
pub(super) fn methods(root: &View<'_>, out: &mut Findings) -> Vec<Method> {
    fn settings<T: TableKey + Default>(root: &View<'_>, key: &str, out: &mut Findings) -> T {
        root.table(key).and_then(|t| T::from_table(&t, out)).unwrap_or_default()
    }
    vec![
        Method::Explicit(settings(root, "explicit", out)),
        Method::Lagrange(settings(root, "lagrange", out)),
        Method::Impulse(settings(root, "impulse", out)),
        Method::Implicit(settings(root, "implicit", out)),
        Method::Ipc(settings(root, "ipc", out)),
    ]
}

/// Notes what is wrong with the settings of the method of a scene.
pub(super) fn check(method: &Method, notes: &mut Diagnostics) {
    match method {
        Method::Explicit(e) => {
            notes.positive("tolerance", e.tolerance);
            notes.positive("min_step", e.min_step);
        }
        Method::Lagrange(e) => {
            notes.positive("tolerance", e.tolerance);
            notes.positive("min_step", e.min_step);
            notes.not_negative("baumgarte", e.baumgarte);
            notes.not_negative("friction", e.friction);
            notes.not_negative("restitution", e.restitution);
            notes.positive("rest_speed", e.rest_speed);
            if matches!(e.integrator, Integrator::SymplecticEuler | Integrator::Verlet) {
                let name = e.integrator.name();
                notes.error(
                    "integrator",
                    format!("`{name}` cannot carry multipliers; `rk4` and `dormand_prince` can"),
                );
            }
        }
        Method::Impulse(e) => {
            if e.substeps == 0 {
                notes.error("substeps", "must be at least 1");
            }
            notes.not_negative("friction", e.friction);
            notes.not_negative("restitution", e.restitution);
            notes.not_negative("bounce_speed", e.bounce_speed);
            notes.positive("push_speed", e.push_speed);
            notes.positive("tolerance", e.tolerance);
            if e.most_sweeps == 0 {
                notes.error("contact_sweeps", "must be at least 1");
            }
            notes.positive("sleep_speed", e.sleep_speed);
            if !(e.sleep_after > 0.0) {
                notes.error("sleep_after", "must be above 0, or infinite for never");
            }
        }
        Method::Implicit(e) => {
            notes.positive("tolerance", e.tolerance);
            notes.not_negative("rayleigh_mass", e.rayleigh_mass);
            notes.not_negative("rayleigh_stiffness", e.rayleigh_stiffness);
        }
        // Checked with the rest of contact.
        Method::Ipc(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::{Node, Span, Value};

    #[test]
    fn the_words_are_those_of_the_methods() {
        let words = |kind: Kind| match kind {
            Kind::Word(words) => words.iter().map(|w| w.word).collect::<Vec<_>>(),
            _ => Vec::new(),
        };
        assert_eq!(words(METHODS), Method::NAMES);
        assert_eq!(words(Integrator::KIND), Integrator::ALL.iter().map(|(n, _)| *n).collect::<Vec<_>>());
        assert_eq!(words(Scheme::KIND), Scheme::ALL.iter().map(|(n, _)| *n).collect::<Vec<_>>());
    }

    #[test]
    fn the_defaults_of_the_tables_are_those_of_the_methods() {
        fn read<T: TableKey>(table: &'static Table) -> Option<T> {
            let node = Node { value: Value::Table(Vec::new()), span: Span::default() };
            T::from_table(&View::new(table, &node), &mut Findings::default())
        }
        assert_eq!(read(const { &Explicit::TABLE }), Some(Explicit::default()));
        assert_eq!(read(const { &Lagrange::TABLE }), Some(Lagrange::default()));
        assert_eq!(read(const { &Impulse::TABLE }), Some(Impulse::default()));
        assert_eq!(read(const { &Implicit::TABLE }), Some(Implicit::default()));
        assert_eq!(read(const { &Ipc::TABLE }), Some(Ipc::default()));
    }
}
