//! What a scene carries beside its text: the meshes of its robots, as files in memory.
//!
//! A scene is complete without the files that it was read from, so that a recording can be run again. Its text stays
//! small: it names a mesh, and the mesh stands here, in binary. The name is made of the content, so that ten robots of
//! one kind share their meshes, and the same scene has the same names wherever it was read.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Largest sum of all files \[bytes\].
pub const MAX_ASSETS: usize = 1 << 30;

/// Files in memory, by name. A copy shares the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assets {
    files: BTreeMap<String, Arc<[u8]>>,
    bytes: usize,
}

impl Assets {
    /// Adds a file whose name ends in `.ending` and gives that name; one of equal content is not kept twice. The error
    /// says by how much the limit would be passed.
    pub fn add(&mut self, ending: &str, content: Vec<u8>) -> Result<String, String> {
        let mut name = format!("{:016x}.{ending}", fingerprint(&content));
        // Two contents of one fingerprint are told apart.
        while let Some(known) = self.files.get(&name) {
            if known[..] == content[..] {
                return Ok(name);
            }
            name.insert(0, '_');
        }
        self.insert(name.clone(), content.into())?;
        Ok(name)
    }

    /// Puts a file under a name, in the place of one that has it.
    pub fn insert(&mut self, name: String, content: Arc<[u8]>) -> Result<(), String> {
        let freed = self.files.get(&name).map_or(0, |old| old.len());
        let bytes = self.bytes - freed + content.len();
        if bytes > MAX_ASSETS {
            return Err(format!(
                "the meshes take {} MiB, more than {} MiB",
                bytes.div_ceil(1 << 20),
                MAX_ASSETS >> 20
            ));
        }
        self.bytes = bytes;
        self.files.insert(name, content);
        Ok(())
    }

    /// A file.
    pub fn get(&self, name: &str) -> Option<&Arc<[u8]>> {
        self.files.get(name)
    }

    /// Names and files, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<[u8]>)> {
        self.files.iter().map(|(name, content)| (name.as_str(), content))
    }

    /// How many files there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The size of all files together \[bytes\].
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// FNV-1a over 64 bits, eight bytes at a time.
fn fingerprint(content: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64 ^ content.len() as u64;
    let (words, rest) = content.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    for word in words.iter().chain([&last]) {
        hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(0x0100_0000_01b3);
        // A product carries upwards only; this brings the high half back down.
        hash ^= hash >> 29;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_files_are_kept_once_and_others_apart() {
        let mut assets = Assets::default();
        let one = assets.add("ply", vec![1, 2, 3]).unwrap();
        assert_eq!(assets.add("ply", vec![1, 2, 3]).unwrap(), one);
        let other = assets.add("ply", vec![1, 2, 4]).unwrap();
        let longer = assets.add("ply", vec![1, 2, 3, 0]).unwrap();
        assert_eq!((assets.len(), assets.bytes()), (3, 10));
        assert!(one != other && one != longer);
        assert_eq!(assets.get(&longer).unwrap()[..], [1, 2, 3, 0]);
        assets.insert(one, Arc::from([9])).unwrap();
        assert_eq!(assets.bytes(), 8);
    }

    #[test]
    fn a_name_that_another_content_has_is_not_taken_from_it() {
        let mut assets = Assets::default();
        let name = Assets::default().add("ply", vec![5]).unwrap();
        assets.insert(name.clone(), Arc::from([7])).unwrap();
        let second = assets.add("ply", vec![5]).unwrap();
        assert_ne!(second, name);
        assert_eq!((assets.get(&name).unwrap()[0], assets.get(&second).unwrap()[0]), (7, 5));
    }
}
