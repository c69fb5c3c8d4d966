//! Damaged recordings: no panic, no hang, no large allocation, and never a wrong number.
//!
//! A test target of its own, because it counts what the whole process allocates.

#![allow(unsafe_code)] // the counting allocator

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use dalembert_formats::recording::{Header, Recording, RecordingError, Writer};

struct Largest;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system allocator unchanged.
unsafe impl GlobalAlloc for Largest {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Ordering::Relaxed);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Largest = Largest;

/// A file of a few kilobytes must not make the reader ask for more than this at once \[bytes\].
const ALLOCATION_LIMIT: usize = 4 << 20;

type Bits = Vec<(u64, u64, Vec<u64>)>;

fn read_all(path: &Path) -> Result<Bits, RecordingError> {
    let recording = Recording::open(path)?;
    for row in recording.scalars() {
        row?;
    }
    let bits = |x: &f64| x.to_bits();
    recording
        .frames()
        .map(|frame| frame.map(|f| (bits(&f.time), f.step, f.state.iter().map(bits).collect())))
        .collect()
}

fn write_file(path: &Path) -> (Vec<u8>, Bits) {
    let header = Header {
        scene: "[[rigid]]\nname = \"ball\"\n".repeat(8),
        dt: 0.01,
        state_len: 6,
        scalar_names: vec!["kinetic [J]".into()],
        ..Header::default()
    };
    let mut writer = Writer::create(path, &header).unwrap();
    for i in 0..12 {
        let t = i as f64 * 0.01;
        writer.write_scalars(t, &[t.cos()]).unwrap();
        writer.write_frame(t, i, &[t, -t, t.sin(), 1.0, 0.0, -0.0]).unwrap();
        if i % 3 == 2 {
            writer.flush().unwrap();
        }
    }
    writer.finish().unwrap();
    (fs::read(path).unwrap(), read_all(path).unwrap())
}

/// splitmix64.
fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *seed;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn mutate(bytes: &mut Vec<u8>, seed: &mut u64) {
    for _ in 0..1 + random(seed) % 3 {
        let at = random(seed) as usize % bytes.len();
        match random(seed) % 8 {
            0..4 => bytes[at] = random(seed) as u8,
            4 => bytes[at] ^= 1 << (random(seed) % 8),
            5 => {
                let end = bytes.len().min(at + 8);
                let value = if random(seed).is_multiple_of(2) { 0xff } else { 0 };
                bytes[at..end].fill(value);
            }
            6 => {
                let end = bytes.len().min(at + 1 + random(seed) as usize % 40);
                bytes.drain(at..end);
            }
            _ => {
                let end = bytes.len().min(at + 1 + random(seed) as usize % 40);
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
        }
        if bytes.is_empty() {
            return;
        }
    }
}

#[test]
fn damage_is_refused_or_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let (original, frames) = write_file(&folder.path().join("whole.mcap"));
    let path = folder.path().join("damaged.mcap");
    let mut seed = 1;
    let (mut refused, mut accepted) = (0, 0);
    LARGEST.store(0, Ordering::Relaxed);
    let mut check = |bytes: &[u8], what: &str| {
        fs::write(&path, bytes).unwrap();
        match read_all(&path) {
            Ok(found) => {
                accepted += 1;
                assert!(found.len() <= frames.len() && found[..] == frames[..found.len()], "{what}");
            }
            Err(error) => {
                refused += 1;
                assert!(error.to_string().contains("damaged.mcap"), "{what}: {error}");
            }
        }
        let largest = LARGEST.load(Ordering::Relaxed);
        assert!(largest < ALLOCATION_LIMIT, "{what}: {largest} bytes were asked for");
    };
    for round in 0..20_000 {
        let mut bytes = original.clone();
        mutate(&mut bytes, &mut seed);
        check(&bytes, &format!("mutation {round}"));
    }
    // Every byte once with its extreme values, so that no length field is missed.
    for at in 0..original.len() {
        for value in [0x00, 0x7f, 0xff] {
            let mut bytes = original.clone();
            bytes[at] = value;
            check(&bytes, &format!("byte {at} set to {value:#04x}"));
        }
    }
    assert!(refused > 10_000 && accepted > 100, "{refused} refused, {accepted} accepted");
}

#[test]
fn a_chunk_that_claims_the_impossible_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.mcap");
    let (original, _) = write_file(&path);
    let mut offset = 8;
    while original[offset] != 0x06 {
        offset += 9 + u64::from_le_bytes(original[offset + 1..offset + 9].try_into().unwrap()) as usize;
    }
    let body = offset + 9;
    for (field, says) in [(offset + 1, "claims"), (body + 16, "claims to unpack to"), (body + 35, "claims")] {
        let mut bytes = original.clone();
        bytes[field..field + 8].copy_from_slice(&(1u64 << 60).to_le_bytes());
        fs::write(&path, &bytes).unwrap();
        let error = Recording::open(&path).unwrap_err().to_string();
        assert!(error.contains(says) && error.contains("1152921504606846976"), "{error}");
        assert!(error.contains(&format!("at byte {offset}")), "{error}");
    }
}
