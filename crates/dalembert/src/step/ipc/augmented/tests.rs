use super::*;
use crate::math::Random;

/// One constraint of vertex 0 against vertex 1.
fn sample(lambda: f64, rho: f64, target: f64) -> (Rows, Contact) {
    let contact = Contact {
        kind: Kind::VertexVertex,
        pair: [0, 1],
        bodies: [0, 1],
        vertices: [0, 1, 0, 0],
        weights: [1.0, -1.0, 0.0, 0.0],
        normal: Vec3::new(0.6, 0.0, 0.8),
        gap: 1e-3,
        region: crate::collide::distance::Region::Points(0, 1),
        multiplicity: 1.0,
    };
    let of = Multiplier { bodies: [0, 1], kind: contact.kind, pair: [0, 1], lambda, growth: 1.0 };
    let rows = Rows {
        on: true,
        lambda: vec![lambda],
        rho: vec![rho],
        held: vec![Held { of, target, error: 0.0, age: 0 }],
        at: vec![Vec3::new(0.1, 0.2, 0.3), Vec3::new(0.0, 0.1, -0.2)],
        ..Rows::default()
    };
    (rows, contact)
}

#[test]
fn slope_and_curvature_are_those_of_the_energy_on_both_sides_of_the_switch() {
    let mut random = Random::new(8);
    let (mut pressed, mut free) = (0, 0);
    for _ in 0..200 {
        let (mut rows, c) = sample(random.between(0.0, 2.0), 1e3, 5e-4);
        let x: Vec<Vec3> =
            rows.at.iter().map(|y| y + Vec3::from_fn(|_, _| random.between(-3e-3, 3e-3))).collect();
        let u = Vec3::from_fn(|_, _| random.between(-1.0, 1.0));
        let along = |t: f64| vec![x[0] + t * u, x[1]];
        rows.evaluate(&[c], &x);
        // Near the switch the second difference straddles it.
        if (rows.lambda[0] - rows.rho[0] * rows.value[0]).abs() < 0.05 {
            continue;
        }
        let [_, first, second] = rows.at(0);
        let (slope, curvature) = (rows.rho[0] * first * c.normal.dot(&u), rows.rho[0] * second);
        let h = 1e-5;
        let [a, b, d] = [-h, 0.0, h].map(|t| rows.energy(0, &c, &along(t)));
        assert!(((d - a) / (2.0 * h) - slope).abs() < 1e-7 * (1.0 + slope.abs()), "{slope}");
        let bend = curvature * c.normal.dot(&u).powi(2);
        assert!(((a + d - 2.0 * b) / (h * h) - bend).abs() < 1e-2 * (1.0 + bend), "{bend}");
        // It pushes apart or not at all.
        assert!(first <= 0.0);
        pressed += usize::from(second > 0.0);
        free += usize::from(second == 0.0);
    }
    assert!(pressed > 40 && free > 40, "{pressed} {free}");
}

#[test]
fn the_effective_mass_of_a_cubes_corner_is_a_tenth_of_its_own() {
    // ∫ρXXᵀ = m s²/12, so a corner has 1/m + 3 (s/2)²/(m s²/12) = 10/m; a node of the same mass adds 1/m.
    let (m, s, d) = (2.0, 0.1, 0.01);
    let second = m * s * s / 12.0;
    let mass = Matrix4::from_diagonal(&Vector4::new(m, second, second, second));
    let rows = Rows {
        inverse: vec![mass.try_inverse().unwrap() * (d * d)],
        first_of: vec![0, NONE, NONE, NONE, NONE],
        node: vec![0.0, 0.0, 0.0, 0.0, d * d / m],
        ..Rows::default()
    };
    let corner = [1.0, 0.5 * s, -0.5 * s, 0.5 * s];
    let alone = rows.effective(&[0, 1, 2, 3], &corner);
    assert!((alone / (m / (10.0 * d * d)) - 1.0).abs() < 1e-12);
    let pair = rows.effective(&[0, 1, 2, 3, 4], &[corner[0], corner[1], corner[2], corner[3], -1.0]);
    assert!((pair / (m / (11.0 * d * d)) - 1.0).abs() < 1e-12);
    assert_eq!(rows.effective(&[], &[]), 0.0);
}

#[test]
fn names_of_potentials_are_read_back() {
    for (name, potential) in ContactPotential::ALL {
        assert_eq!(potential.name(), *name);
        assert_eq!(ContactPotential::from_name(name), Some(*potential));
    }
    assert_eq!(ContactPotential::from_name("penalty"), None);
}
