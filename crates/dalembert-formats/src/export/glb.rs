//! glTF 2.0 in one binary file: what moves, as Blender, three.js and every game engine read it.
//!
//! Each rigid body is a node with the mesh of its shape (bodies of one shape and colour share it) and an animation of
//! its translation and rotation, one key per recorded frame, linear in between. All points are one mesh (points, lines
//! for springs, triangles for soft surfaces) whose deformation is an animation over morph targets: key k is the first frame
//! plus target k. A root node turns z up into y up.

use std::io::Write;
use std::path::Path;

use dalembert::bodies::TriangleMesh;
use dalembert::math::Vec3;
use dalembert::model::Model;
use dalembert::state::BlockKind;
use serde_json::{Value, json};

use super::surface::Surface;
use super::topology::deformation_columns;
use super::{PALETTE, first_state, states};
use crate::recording::{Recording, RecordingError, atomic_write};

/// Most keys of a deformation; a longer recording is thinned evenly.
const MOST_TARGETS: usize = 120;
/// Triangles that meet at less than 40° look smooth.
const CREASE: f64 = 0.766;

const FLOAT: u32 = 5126;
const UNSIGNED_INT: u32 = 5125;
const VERTICES: u32 = 34962;
const INDICES: u32 = 34963;
const POINTS: u32 = 0;
const LINES: u32 = 1;
const TRIANGLES: u32 = 4;

/// Writes a recording.
pub fn write(model: &Model, recording: &Recording, path: &Path) -> Result<(), RecordingError> {
    let mut file = Builder::default();
    let first = first_state(model, recording)?;
    let surface = Surface::new(model, &first);

    let keys = Keys::of(model, recording)?;
    let mut nodes = vec![json!({ "name": "z up", "rotation": [-0.5f64.sqrt(), 0.0, 0.0, 0.5f64.sqrt()] })];
    let mut motion = Motion::default();
    bodies(model, &surface, &keys, &mut file, &mut nodes, &mut motion);
    if model.layout.points > 0 {
        points(&surface, &keys, &mut file, &mut nodes, &mut motion);
    }
    if nodes.len() > 1 {
        nodes[0]["children"] = (1..nodes.len()).collect::<Vec<_>>().into();
    }
    let mut root = json!({
        "asset": { "version": "2.0", "generator": format!("dalembert {}", env!("CARGO_PKG_VERSION")) },
        "scene": 0,
        "scenes": [{ "name": recording.header().scene_name, "nodes": [0] }],
        "nodes": nodes,
    });
    let mut put = |key: &str, list: Vec<Value>| {
        if !list.is_empty() {
            root[key] = list.into();
        }
    };
    put("meshes", file.meshes);
    put("materials", file.materials);
    put("accessors", file.accessors);
    put("bufferViews", file.views);
    if !motion.channels.is_empty() {
        let Motion { channels, samplers } = motion;
        put("animations", vec![json!({ "name": "motion", "channels": channels, "samplers": samplers })]);
    }
    if !file.bytes.is_empty() {
        put("buffers", vec![json!({ "byteLength": file.bytes.len() })]);
    }
    atomic_write(path, |out| chunks(&root.to_string(), &file.bytes, out))
}

/// Keys of the motion.
struct Keys {
    times: Vec<f32>,
    /// Of each rigid body, three and four numbers a key.
    places: Vec<Vec<f32>>,
    turns: Vec<Vec<f32>>,
    /// Of the points, less often.
    morph_times: Vec<f32>,
    shapes: Vec<Vec<f32>>,
}

impl Keys {
    fn of(model: &Model, recording: &Recording) -> Result<Self, RecordingError> {
        let rigid = model.layout.rigid;
        let stride = recording.frame_count().div_ceil(MOST_TARGETS).max(1);
        let mut times: Vec<f32> = Vec::new();
        let (mut places, mut turns) = (vec![Vec::new(); rigid], vec![Vec::<f32>::new(); rigid]);
        let (mut morph_times, mut shapes): (Vec<f32>, Vec<Vec<f32>>) = (Vec::new(), Vec::new());
        for (i, state) in states(model, recording).enumerate() {
            let state = state?;
            let time = state.time as f32;
            // Keys must rise; two frames of one moment are one key.
            if times.last().is_some_and(|last| time <= *last) {
                continue;
            }
            times.push(time);
            for k in 0..rigid {
                let pose = model.rigid.pose(&state.q, k);
                let q = pose.rotation;
                let mut turn = [q.i, q.j, q.k, q.w].map(|x| x as f32);
                // q and −q are one turn; the nearer one is meant.
                if let Some(last) = turns[k].last_chunk::<4>()
                    && last.iter().zip(turn).map(|(a, b)| a * b).sum::<f32>() < 0.0
                {
                    turn = turn.map(|x| -x);
                }
                places[k].extend(pose.position.iter().map(|x| *x as f32));
                turns[k].extend(turn);
            }
            if model.layout.points > 0 && (i.is_multiple_of(stride) || i + 1 == recording.frame_count()) {
                morph_times.push(time);
                let mut shape: Vec<f32> = state.q[model.layout.points_q()..model.layout.robots_q()]
                    .iter()
                    .map(|x| *x as f32)
                    .collect();
                for (column, center) in deformation_columns(model) {
                    shape.copy_within(3 * center..3 * center + 3, 3 * column);
                }
                shapes.push(shape);
            }
        }
        Ok(Self { times, places, turns, morph_times, shapes })
    }
}

/// Channels and samplers of the animation.
#[derive(Default)]
struct Motion {
    channels: Vec<Value>,
    samplers: Vec<Value>,
}

impl Motion {
    fn add(&mut self, node: usize, path: &str, input: usize, output: usize) {
        let sampler = self.samplers.len();
        self.channels.push(json!({ "sampler": sampler, "target": { "node": node, "path": path } }));
        self.samplers.push(json!({ "input": input, "output": output, "interpolation": "LINEAR" }));
    }
}

/// A node for each rigid body.
fn bodies(
    model: &Model,
    surface: &Surface,
    keys: &Keys,
    file: &mut Builder,
    nodes: &mut Vec<Value>,
    motion: &mut Motion,
) {
    let moving = keys.times.len() > 1 && model.layout.rigid > 0;
    let input = moving.then(|| file.floats(&keys.times, "SCALAR", None, true));
    let Keys { places, turns, .. } = keys;
    for (b, block) in model.blocks.iter().enumerate().filter(|(_, b)| b.kind == BlockKind::Rigid) {
        let k = block.q.start / 7;
        let mut node =
            json!({ "name": block.name, "translation": places[k][..3], "rotation": turns[k][..4] });
        if !surface.meshes[k].triangles().is_empty() {
            let twin = (0..k).find(|j| {
                model.shapes[*j] == model.shapes[k] && b % PALETTE.len() == file.colours[*j] % PALETTE.len()
            });
            node["mesh"] = match twin {
                Some(j) => file.mesh_of_body[j].into(),
                None => file.solid(&block.name, &surface.meshes[k], b).into(),
            };
        }
        file.mesh_of_body.push(node["mesh"].as_u64().unwrap_or_default() as usize);
        file.colours.push(b);
        if let Some(input) = input {
            let outputs = [("translation", "VEC3", &places[k]), ("rotation", "VEC4", &turns[k])];
            for (path, kind, values) in outputs {
                let output = file.floats(values, kind, None, false);
                motion.add(nodes.len(), path, input, output);
            }
        }
        nodes.push(node);
    }
}

/// One node for all points, with a morph target for each of their shapes.
fn points(surface: &Surface, keys: &Keys, file: &mut Builder, nodes: &mut Vec<Value>, motion: &mut Motion) {
    let mesh = file.points(surface, &keys.shapes);
    if keys.shapes.len() > 1 {
        let targets = keys.shapes.len() - 1;
        let weights: Vec<f32> = (0..keys.shapes.len())
            .flat_map(|key| (1..=targets).map(move |target| if key == target { 1.0 } else { 0.0 }))
            .collect();
        let input = file.floats(&keys.morph_times, "SCALAR", None, true);
        let output = file.floats(&weights, "SCALAR", None, false);
        motion.add(nodes.len(), "weights", input, output);
    }
    nodes.push(json!({ "name": "points", "mesh": mesh }));
}

/// Header, JSON and binary chunk; lengths are multiples of four.
fn chunks(json: &str, binary: &[u8], out: &mut impl Write) -> Result<(), RecordingError> {
    let pad = |n: usize| n.next_multiple_of(4) - n;
    let json_length = json.len() + pad(json.len());
    let total = 12 + 8 + json_length + if binary.is_empty() { 0 } else { 8 + binary.len() };
    let size = |n: usize| {
        u32::try_from(n).map(u32::to_le_bytes).map_err(|_| {
            RecordingError::Output(std::io::Error::other("the motion does not fit into 4 GB of glTF"))
        })
    };
    out.write_all(b"glTF\x02\0\0\0")?;
    out.write_all(&size(total)?)?;
    out.write_all(&size(json_length)?)?;
    out.write_all(b"JSON")?;
    out.write_all(json.as_bytes())?;
    out.write_all(&b"   "[..pad(json.len())])?;
    if !binary.is_empty() {
        out.write_all(&size(binary.len())?)?;
        out.write_all(b"BIN\0")?;
        out.write_all(binary)?;
    }
    Ok(())
}

/// Lists of the file in the making.
#[derive(Default)]
struct Builder {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
    meshes: Vec<Value>,
    materials: Vec<Value>,
    /// Mesh and colour of each rigid body so far.
    mesh_of_body: Vec<usize>,
    colours: Vec<usize>,
}

impl Builder {
    fn accessor(&mut self, data: &[u8], target: Option<u32>, mut accessor: Value) -> usize {
        let mut view = json!({ "buffer": 0, "byteOffset": self.bytes.len(), "byteLength": data.len() });
        if let Some(target) = target {
            view["target"] = target.into();
        }
        accessor["bufferView"] = self.views.len().into();
        self.bytes.extend(data);
        self.views.push(view);
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }

    fn floats(&mut self, values: &[f32], kind: &str, target: Option<u32>, bounds: bool) -> usize {
        let each = match kind {
            "SCALAR" => 1,
            "VEC3" => 3,
            _ => 4,
        };
        let mut accessor = json!({ "componentType": FLOAT, "count": values.len() / each, "type": kind });
        if bounds {
            let fold = |start: f32, f: fn(f32, f32) -> f32| -> Vec<f32> {
                (0..each).map(|k| values.iter().skip(k).step_by(each).copied().fold(start, f)).collect()
            };
            accessor["min"] = fold(f32::INFINITY, f32::min).into();
            accessor["max"] = fold(f32::NEG_INFINITY, f32::max).into();
        }
        let data: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.accessor(&data, target, accessor)
    }

    fn indices(&mut self, values: impl Iterator<Item = u32>) -> usize {
        let data: Vec<u8> = values.flat_map(u32::to_le_bytes).collect();
        let accessor = json!({ "componentType": UNSIGNED_INT, "count": data.len() / 4, "type": "SCALAR" });
        self.accessor(&data, Some(INDICES), accessor)
    }

    fn material(&mut self, colour: usize, both_sides: bool) -> usize {
        let [r, g, b] = PALETTE[colour % PALETTE.len()].map(|c| (f64::from(c) / 255.0).powf(2.2));
        self.materials.push(json!({
            "pbrMetallicRoughness": {
                "baseColorFactor": [r, g, b, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.6,
            },
            "doubleSided": both_sides,
        }));
        self.materials.len() - 1
    }

    /// The mesh of a body: corners are not shared, so that edges stay sharp and round parts look round.
    fn solid(&mut self, name: &str, mesh: &TriangleMesh, colour: usize) -> usize {
        let (corners, triangles) = (mesh.vertices(), mesh.triangles());
        let flat = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|i| corners[i as usize]);
            (b - a).cross(&(c - a))
        };
        let mut around = vec![Vec::new(); corners.len()];
        for (k, t) in triangles.iter().enumerate() {
            t.iter().for_each(|i| around[*i as usize].push(k));
        }
        let (mut places, mut normals): (Vec<f32>, Vec<f32>) = (Vec::new(), Vec::new());
        for t in triangles {
            let Some(own) = flat(t).try_normalize(0.0) else { continue };
            for i in t.map(|i| i as usize) {
                let near = around[i].iter().map(|k| flat(&triangles[*k]));
                let sum: Vec3 = near.filter(|n| n.dot(&own) > CREASE * n.norm()).sum();
                places.extend(corners[i].iter().map(|x| *x as f32));
                normals.extend(sum.try_normalize(0.0).unwrap_or(own).iter().map(|x| *x as f32));
            }
        }
        let position = self.floats(&places, "VEC3", Some(VERTICES), true);
        let normal = self.floats(&normals, "VEC3", Some(VERTICES), false);
        let material = self.material(colour, false);
        let attributes = json!({ "POSITION": position, "NORMAL": normal });
        let primitive = json!({ "attributes": attributes, "material": material, "mode": TRIANGLES });
        self.meshes.push(json!({ "name": name, "primitives": [primitive] }));
        self.meshes.len() - 1
    }

    /// The mesh of all points, with one target per key after the first.
    fn points(&mut self, surface: &Surface, shapes: &[Vec<f32>]) -> usize {
        let position = self.floats(&shapes[0], "VEC3", Some(VERTICES), true);
        let mut targets = Vec::new();
        for shape in &shapes[1..] {
            let moved: Vec<f32> = shape.iter().zip(&shapes[0]).map(|(a, b)| a - b).collect();
            targets.push(json!({ "POSITION": self.floats(&moved, "VEC3", Some(VERTICES), true) }));
        }
        let first = surface.first_point;
        let mut primitives = Vec::new();
        let mut add = |file: &mut Self, mode: u32, indices: &[u32], colour: usize, both_sides: bool| {
            if indices.is_empty() {
                return;
            }
            let indices = file.indices(indices.iter().map(|i| i - first));
            let material = file.material(colour, both_sides);
            let mut primitive = json!({
                "attributes": { "POSITION": position }, "indices": indices, "material": material, "mode": mode,
            });
            if !targets.is_empty() {
                primitive["targets"] = targets.clone().into();
            }
            primitives.push(primitive);
        };
        let colour_of = |i: &u32| surface.block[*i as usize] as usize;
        add(self, POINTS, &surface.loose, surface.loose.first().map_or(0, colour_of), false);
        add(self, LINES, surface.edges.as_flattened(), 4, false);
        for (block, triangles) in &surface.sheets {
            add(self, TRIANGLES, triangles.as_flattened(), *block, true);
        }
        let mut mesh = json!({ "name": "points", "primitives": primitives });
        if !targets.is_empty() {
            mesh["weights"] = vec![0.0; targets.len()].into();
        }
        self.meshes.push(mesh);
        self.meshes.len() - 1
    }
}
