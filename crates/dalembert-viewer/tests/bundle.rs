//! The page in the program is the page in the sources.

use std::path::Path;

fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn the_committed_bundle_is_made_from_the_present_sources() {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
    let mut files: Vec<String> =
        ["index.html", "package.json", "build.mjs", "tsconfig.json"].map(String::from).to_vec();
    for entry in std::fs::read_dir(web.join("src")).unwrap() {
        files.push(format!("src/{}", entry.unwrap().file_name().into_string().unwrap()));
    }
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for file in &files {
        hash = fnv(hash, file.as_bytes());
        hash = fnv(hash, &[0]);
        hash = fnv(hash, &std::fs::read(web.join(file)).unwrap());
        hash = fnv(hash, &[0]);
    }
    let built = std::fs::read_to_string(web.join("dist/SOURCE_HASH")).unwrap();
    assert_eq!(
        built.trim(),
        format!("{hash:016x}"),
        "the page has changed since it was bundled: run `npm ci && npm run build` in {}",
        web.display()
    );
}

#[test]
fn the_bundle_names_no_other_host_that_it_would_ask() {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("web/dist");
    for file in ["index.html", "app.css"] {
        let text = std::fs::read_to_string(web.join(file)).unwrap();
        assert!(!text.contains("http://") && !text.contains("https://") && !text.contains("//cdn"), "{file}");
    }
    assert!(std::fs::read_to_string(web.join("LICENSE-three.txt")).unwrap().contains("MIT"));
}
