//! `cargo xtask gallery`: a picture of every scene, and the page that shows them.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use crate::Outcome;
use crate::run::{build_program, files, output, program, read, root};

/// Where pictures lie, from the root.
const PICTURES: &str = "book/src/pictures";
const PAGE: &str = "book/src/gallery.md";
/// A picture is larger than this only by mistake \[bytes\].
const MOST_BYTES: u64 = 60_000;

/// Scenes that look best at another moment or from another side than the rest.
const OPTIONS: &[(&str, &[&str])] = &[
    ("cantilever", &["--time", "100%", "--camera=-80,12"]),
    ("bead_on_wire", &["--trails"]),
    ("cloth", &["--time", "12%"]),
    ("double_pendulum", &["--trails"]),
    ("falling_stones", &["--trails", "--time", "15%", "--camera=-75,10"]),
    ("governor", &["--show", "joint"]),
    ("figure_eight", &["--trails", "--camera=-60,50"]),
    ("inclined_plane", &["--trails", "--camera=-25,18"]),
    ("kepler", &["--trails", "--time", "100%", "--camera=-60,50"]),
    ("lennard_jones", &["--time", "100%", "--size", "540x360"]),
    ("pendulum", &["--trails", "--camera=-80,12"]),
    ("push_some", &["--time", "100%", "--size", "480x320"]),
    ("squeezer", &["--show", "joint"]),
    ("shaken", &["--camera=-80,12"]),
];

/// Renders all scenes and writes the page.
pub(crate) fn write() -> Outcome {
    build_program()?;
    let folder = root().join(PICTURES);
    std::fs::create_dir_all(&folder).map_err(|e| format!("cannot create `{}`: {e}", folder.display()))?;
    for scene in files(&root().join("scenes"), "toml")? {
        let name = stem(&scene);
        let picture = folder.join(format!("{name}.png"));
        let start = Instant::now();
        let (from, to) = (scene.to_string_lossy(), picture.to_string_lossy());
        let own = OPTIONS.iter().find(|(scene, _)| *scene == name).map_or(&[][..], |(_, options)| *options);
        let mut arguments = vec!["render", &from, "-o", &to, "--small"];
        for (option, value) in [("--size", "600x400"), ("--time", "40%")] {
            if !own.contains(&option) {
                arguments.extend([option, value]);
            }
        }
        arguments.extend(own);
        output(&mut program(&arguments)?)?;
        let bytes = std::fs::metadata(&picture).map_or(0, |m| m.len());
        println!("{name}: {} kB, {:.1} s", bytes / 1000, start.elapsed().as_secs_f64());
        if bytes > MOST_BYTES {
            return Err(format!("`{}` has {bytes} bytes; at most {MOST_BYTES} belong into the project", to));
        }
    }
    let page = root().join(PAGE);
    std::fs::write(&page, text()?).map_err(|e| format!("cannot write `{}`: {e}", page.display()))?;
    println!("wrote {}", page.display());
    write_readme()
}

/// Scenes whose pictures stand in the README; those that do not exist are left out.
const README: &[&str] =
    &["push_some", "cloth", "chain_bridge", "ragdoll", "soft_block", "snake", "figure_eight"];

/// Puts the section "Gallery" at the end of the README, in the place of the one that is there.
fn write_readme() -> Outcome {
    let path = root().join("README.md");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("no README.md: its section \"Gallery\" was left out");
        return Ok(());
    };
    let before = text.split("\n## Gallery\n").next().unwrap_or(&text).trim_end();
    let mut out = format!(
        "{before}\n\n## Gallery\n\nAll scenes with pictures are in [the book](book/src/gallery.md).\n"
    );
    for name in README {
        let scene = root().join(format!("scenes/{name}.toml"));
        if scene.is_file() {
            let file = read(&scene)?;
            let title = title(&file, name);
            let _ = write!(
                out,
                "\n![{title}]({PICTURES}/{name}.png)\n\n```sh\ndalembert view scenes/{name}.toml\n```\n"
            );
        }
    }
    std::fs::write(&path, out).map_err(|e| format!("cannot write `{}`: {e}", path.display()))
}

/// The title of a scene file.
fn title<'a>(file: &'a str, name: &'a str) -> &'a str {
    file.lines().find_map(|l| l.strip_prefix("title = ")).unwrap_or(name).trim_matches('"')
}

/// Fails if a scene has no picture or the page is not what the scenes say.
pub(crate) fn check() -> Outcome {
    for scene in files(&root().join("scenes"), "toml")? {
        let picture = format!("{PICTURES}/{}.png", stem(&scene));
        if !root().join(&picture).is_file() {
            return Err(format!("`{picture}` is missing: run `cargo xtask gallery` and commit it"));
        }
    }
    match read(&root().join(PAGE))? == text()? {
        true => Ok(()),
        false => Err(format!("`{PAGE}` is stale: run `cargo xtask gallery` and commit it")),
    }
}

fn stem(scene: &Path) -> String {
    scene.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The page: picture, title, what is seen, and the command.
fn text() -> Outcome<String> {
    let mut out = String::from(
        "# Gallery\n\nEvery scene that comes with the program. The pictures are made by `cargo xtask gallery`; \
         `dalembert examples copy NAME .` takes a scene as the start of your own.\n",
    );
    for scene in files(&root().join("scenes"), "toml")? {
        let (name, file) = (stem(&scene), read(&scene)?);
        let title = title(&file, &name);
        let says = |mark: &str| file.lines().find_map(|l| l.strip_prefix(mark)).unwrap_or_default();
        let _ = write!(
            out,
            "\n## {title}\n\n![{title}](pictures/{name}.png)\n\nYou see:{}\n\n```sh\ndalembert view scenes/{name}.toml\n```\n",
            says("# You see:")
        );
    }
    Ok(out)
}
