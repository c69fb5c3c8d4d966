//! Drawings that are no simulation: for tests, benches and trying out pictures.

use crate::drawing::{Drawing, Frame, Geometry, Group, PALETTE, Scalar};

/// A drawing of `bodies` boxes and a cloth of `side` × `side` vertices, with its frame.
pub fn large_drawing(bodies: u32, side: u32) -> (Drawing, Frame) {
    let mut drawing = Drawing { extent: 10.0, ..Drawing::default() };
    let mut frame = Frame::default();
    for i in 0..bodies {
        let pose = drawing.add_pose();
        let colour = PALETTE[i as usize % PALETTE.len()];
        drawing.add(&format!("box {i}"), Group::Body, colour, Geometry::Box { pose, size: [0.1; 3] });
        let at = [f64::from(i % 50) * 0.15, f64::from(i / 50 % 40) * 0.15, f64::from(i % 7) * 0.2];
        frame.push_pose(at, [1.0, 0.0, 0.0, 0.0]);
    }
    let squares = (0..side - 1).flat_map(|j| (0..side - 1).map(move |i| j * side + i));
    let triangles = squares.flat_map(|a| [[a, a + 1, a + side + 1], [a, a + side + 1, a + side]]).collect();
    drawing.add("cloth", Group::Body, PALETTE[0], Geometry::Mesh { first: 0, count: side * side, triangles });
    drawing.vertices = side * side;
    for k in 0..side * side {
        let (x, y) = ((k % side) as f32 * 0.05, (k / side) as f32 * 0.05);
        frame.vertices.extend([x, y, 2.0 + 0.2 * (2.0 * x).sin() * y.cos()]);
    }
    (drawing, frame)
}

/// One of each shape, with violations and islands that mean nothing.
pub fn every_shape() -> (Drawing, Frame) {
    let mut d = Drawing { title: "every shape".into(), extent: 4.0, ..Drawing::default() };
    let mut f = Frame::default();
    let mut pose = |d: &mut Drawing, p: [f64; 3], q: [f64; 4]| {
        f.push_pose(p, q);
        d.add_pose()
    };
    let tilt = [0.92, 0.2, 0.25, 0.22];
    let p = pose(&mut d, [0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]);
    d.add("ground", Group::Body, [200, 200, 200], Geometry::Plane { pose: p });
    let p = pose(&mut d, [-1.2, 0.0, 0.35], [1.0, 0.0, 0.0, 0.0]);
    d.add("ball", Group::Body, PALETTE[0], Geometry::Sphere { pose: p, radius: 0.35 });
    let p = pose(&mut d, [0.0, 0.3, 0.3], [0.9, 0.0, 0.0, 0.4]);
    d.add("box", Group::Body, PALETTE[1], Geometry::Box { pose: p, size: [0.6, 0.6, 0.6] });
    let p = pose(&mut d, [0.1, 0.3, 0.9], tilt);
    d.add("box", Group::Body, PALETTE[3], Geometry::Box { pose: p, size: [0.5, 0.3, 0.3] });
    let p = pose(
        &mut d,
        [0.9, -0.3, 0.2],
        [1.0, 0.0, 1.0, 0.0].map(|x: f64| x * std::f64::consts::FRAC_1_SQRT_2),
    );
    d.add("capsule", Group::Body, PALETTE[2], Geometry::Capsule { pose: p, radius: 0.2, length: 0.6 });
    let p = pose(&mut d, [-0.6, -0.9, 0.3], [1.0, 0.0, 0.0, 0.0]);
    d.add("cylinder", Group::Body, PALETTE[4], Geometry::Cylinder { pose: p, radius: 0.2, length: 0.6 });
    let p = pose(&mut d, [1.3, 0.8, 0.0], [1.0, 0.0, 0.0, 0.0]);
    d.add("frame", Group::Frame, PALETTE[4], Geometry::Axes { pose: p, length: 0.6 });
    let n = 40u32;
    let first = 0;
    for j in 0..n {
        for i in 0..n {
            let (x, y) = (i as f32 / (n - 1) as f32 - 0.5, j as f32 / (n - 1) as f32 - 0.5);
            let z = 1.75 + 0.12 * (7.0 * x).sin() * (5.0 * y).cos();
            f.vertices.extend([1.8 * x, 1.8 * y, z]);
        }
    }
    let at = |i, j| j * n + i;
    let squares = (0..n - 1).flat_map(|j| (0..n - 1).map(move |i| (i, j)));
    let triangles = squares
        .flat_map(|(i, j)| {
            [[at(i, j), at(i + 1, j), at(i + 1, j + 1)], [at(i, j), at(i + 1, j + 1), at(i, j + 1)]]
        })
        .collect();
    d.add("cloth", Group::Body, PALETTE[5], Geometry::Mesh { first, count: n * n, triangles });
    d.vertices = n * n;
    let list = d.add_arrow_list();
    f.arrows.push(vec![-1.2, 0.0, 0.7, 0.0, 0.0, 5.0, 0.9, -0.3, 0.4, 3.0, 0.0, 1.0]);
    let arrows = Geometry::Arrows { list, scale: 0.1, thickness: 1.0, unit: "N" };
    d.add("pushes", Group::Force, [214, 69, 80], arrows);
    d.add("touching", Group::Contact, [240, 176, 40], Geometry::Discs { list, radius: 0.05 });
    let tip = |z: f32| [[0.3, 0.0, 0.0], [-0.15, 0.26, 0.0], [-0.15, -0.26, 0.0], [0.0, 0.0, z]].to_vec();
    let p = d.add_pose();
    f.push_pose([0.0, 6.0, 0.0], [0.5f64.cos(), 0.5f64.sin(), 0.0, 0.0]);
    d.add("ramp", Group::Collision, [150, 158, 170], Geometry::Plane { pose: p });
    let p = d.add_pose();
    f.push_pose([-1.4, 1.1, 0.0], [1.0, 0.0, 0.0, 0.0]);
    let triangles = vec![[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];
    d.add("solid", Group::Body, PALETTE[6], Geometry::Solid { pose: p, vertices: tip(0.5), triangles });
    d.add("name", Group::Label, [128, 136, 148], Geometry::Label { vertex: 0, text: "cloth".into() });
    d.scalars.push(Scalar::new("nothing", "J", "energy"));
    f.scalars.push(0.0);
    f.violation = (0..d.shapes.len()).map(|i| (i % 4) as f32 / 3.0).collect();
    f.islands = (0..d.shapes.len()).map(|i| i as u32 % 3).collect();
    d.shapes.iter_mut().for_each(|s| s.movable = s.group == Group::Body);
    (d, f)
}
