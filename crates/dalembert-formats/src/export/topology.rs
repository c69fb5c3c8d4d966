//! Which points hang together: pairs joined by springs, and sheets of cloth.

use std::collections::BTreeSet;

use dalembert::forces::Blocks;
use dalembert::model::Model;
use dalembert::state::{Block, BlockKind, State};

/// Pairs of points that the springs of one batch join, smaller number first, sorted.
pub type Pairs = Vec<[u32; 2]>;

/// Pairs of points by the name of the spring batch that joins them.
///
/// A batch of forces does not show its tuples, but its stiffness does: K has an off-diagonal block where two points
/// pull at each other.
pub fn spring_pairs<'a>(model: &'a Model, state: &State) -> Vec<(&'a str, Pairs)> {
    let points = model.points(state.time, &state.q, &state.v);
    let mut out = Vec::new();
    for batch in model.forces.iter().filter(|f| f.force.kind() == "springs") {
        let mut blocks = Blocks::default();
        batch.force.add_stiffness_blocks(&points, &mut blocks);
        let mut pairs: Pairs =
            blocks.entries.iter().filter(|(i, j, _)| i < j).map(|(i, j, _)| [*i, *j]).collect();
        pairs.sort_unstable();
        pairs.dedup();
        if !pairs.is_empty() {
            out.push((batch.name.as_str(), pairs));
        }
    }
    out
}

/// Points that are no places but columns of the deformation of an affine body, each with its body's centre of mass, at
/// which it may be shown.
pub fn deformation_columns(model: &Model) -> impl Iterator<Item = (usize, usize)> + '_ {
    let affine = model.blocks.iter().filter(|block| block.kind == BlockKind::Affine);
    affine.flat_map(|block| block.points.clone().skip(1).map(|column| (column, block.points.start)))
}

/// Width of the sheet that the springs weave from the points of a block: point j w + i is joined with its neighbours
/// j w + i + 1 and (j + 1) w + i wherever they exist, and at least three points lie along each side.
pub fn sheet_width(block: &Block, springs: &[(&str, Pairs)]) -> Option<u32> {
    let (first, n) = (u32::try_from(block.points.start).ok()?, u32::try_from(block.points.len()).ok()?);
    if n < 9 {
        return None;
    }
    let inside = |p: &&[u32; 2]| p[0] >= first && p[1] < first + n;
    let pairs: BTreeSet<[u32; 2]> = springs
        .iter()
        .flat_map(|(_, pairs)| pairs)
        .filter(inside)
        .map(|[a, b]| [a - first, b - first])
        .collect();
    let is_sheet = |w: u32| {
        (0..n).all(|i| {
            (i % w == w - 1 || pairs.contains(&[i, i + 1])) && (i + w >= n || pairs.contains(&[i, i + w]))
        })
    };
    // The partners of point 0 tell which widths are possible.
    let mut partners = pairs.range([0, 0]..[1, 0]).map(|p| p[1]);
    let width = |w: &u32| *w >= 3 && n.is_multiple_of(*w) && n / w >= 3 && is_sheet(*w);
    partners.rfind(|w| pairs.contains(&[0, 1]) && width(w))
}

/// Two triangles per square of a sheet with `count` points and rows of `width`, corners counted from its first point.
pub fn sheet_triangles(count: u32, width: u32) -> Vec<[u32; 3]> {
    let squares = (0..count / width - 1).flat_map(|j| (0..width - 1).map(move |i| j * width + i));
    squares.flat_map(|a| [[a, a + 1, a + width + 1], [a, a + width + 1, a + width]]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dalembert::prelude::*;

    fn width(arrangement: Arrangement, edges: &[Edges]) -> Option<u32> {
        let mut scene = Scene::new();
        scene.add(ParticleSet::at("other", [9.0, 0.0, 0.0]));
        scene.add(ParticleSet::new("set", arrangement));
        for (k, edges) in edges.iter().enumerate() {
            scene.add(SpringSet::along(format!("springs {k}"), "set", *edges).stiffness(1.0));
        }
        let sim = scene.build().unwrap();
        let springs = spring_pairs(&sim.model, &sim.state);
        sheet_width(sim.model.block("set").unwrap(), &springs)
    }

    #[test]
    fn a_cloth_is_a_sheet_and_a_rope_or_a_block_is_none() {
        let cloth = || Arrangement::Cloth { size: [1.0, 2.0], count: [5, 7] };
        assert_eq!(width(cloth(), &[Edges::Structural]), Some(5));
        assert_eq!(width(cloth(), &[Edges::Structural, Edges::Shear, Edges::Bend]), Some(5));
        assert_eq!(width(cloth(), &[Edges::Shear]), None);
        let rope = Arrangement::Chain { from: Vec3::zeros(), to: Vec3::x(), count: 12 };
        assert_eq!(width(rope, &[Edges::Structural, Edges::Bend]), None);
        assert_eq!(sheet_triangles(35, 5).len(), 2 * 4 * 6);
    }
}
