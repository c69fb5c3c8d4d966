//! `dalembert examples`: the scenes that come with the program.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use dalembert_formats::error::suggest;
use dalembert_formats::scene::{self, SceneFile};
use dalembert_formats::source::Includes;
use serde_json::{Value, json};

use super::run;
use crate::exit::{CODES, Failure, Outcome};
use crate::output;
use crate::setup;

/// Names and texts of the scenes, and of the parts that they include.
pub(crate) const SCENES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/scenes.rs"));

const EXAMPLES: &str = "\
Examples:
  dalembert examples                    list them
  dalembert examples run hello          run one
  dalembert examples run kepler -o orbit.mcap
  dalembert examples copy hello .       take one as the start of your own
  dalembert examples copy --all scenes  take them all";

/// What `examples` takes.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the scenes
    List {
        /// Print one JSON array instead of text
        #[arg(long)]
        json: bool,
    },
    /// Run a scene
    #[command(after_help = CODES)]
    Run {
        /// Name of the scene, as the list shows it
        name: String,
        #[command(flatten)]
        options: Box<run::Options>,
    },
    /// Copy a scene, with the parts that it includes
    Copy {
        /// Name of the scene (not with --all), then the folder to copy to, which is made if needed
        #[arg(value_name = "NAME DIR", required = true, num_args = 1..=2)]
        words: Vec<String>,
        /// Copy all scenes
        #[arg(long)]
        all: bool,
        /// Replace files that exist
        #[arg(long)]
        force: bool,
    },
}

impl Args {
    pub(crate) fn wants_json(&self) -> bool {
        match &self.action {
            Some(Action::List { json }) => *json,
            Some(Action::Run { options, .. }) => options.json,
            _ => false,
        }
    }
}

pub(crate) fn command(args: Args) -> Outcome {
    match args.action {
        None => list(false),
        Some(Action::List { json }) => list(json),
        Some(Action::Run { name, options }) => {
            let (file, _) = find(&name)?;
            setup::on_threads(options.threads, || {
                let built = setup::build(load(file)?, &options.overrides)?;
                run::start(built, &name, &options)
            })
        }
        Some(Action::Copy { words, all, force }) => match (&words[..], all) {
            ([name, folder], false) => copy(&with_parts(find(name)?.0)?, Path::new(folder), force),
            ([folder], true) => copy(SCENES, Path::new(folder), force),
            ([_], false) => Err(Failure::Usage("say where to: `dalembert examples copy NAME DIR`".into())),
            _ => Err(Failure::Usage(
                "with --all give a folder only: `dalembert examples copy --all DIR`".into(),
            )),
        },
    }
}

/// The scenes that can be run; those in folders are parts of others.
fn runnable() -> impl Iterator<Item = (&'static str, &'static str)> {
    SCENES.iter().filter(|(file, _)| file.ends_with(".toml") && !file.contains('/')).copied()
}

fn stem(file: &str) -> &str {
    file.strip_suffix(".toml").unwrap_or(file)
}

fn find(name: &str) -> Result<(&'static str, &'static str), Failure> {
    runnable().find(|(file, _)| *file == name || stem(file) == name).ok_or_else(|| {
        let meant = suggest(name, runnable().map(|(file, _)| stem(file)));
        let hint = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "`dalembert examples` lists them".into(),
        };
        Failure::Usage(format!("there is no example `{name}`; {hint}"))
    })
}

fn load(file: &str) -> Result<SceneFile, Failure> {
    let (_, text) = find(file)?;
    Ok(scene::load_text(file, text, Includes::Embedded(SCENES))?)
}

fn list(json: bool) -> Outcome {
    let mut scenes = Vec::new();
    for (file, _) in runnable() {
        scenes.push((stem(file), load(file)?.scene));
    }
    if json {
        let one = |(name, s): &(&str, dalembert::scene::Scene)| json!({ "name": name, "title": s.title, "description": s.description });
        let array: Value = scenes.iter().map(one).collect();
        return output::print(&format!("{array:#}\n"));
    }
    let style = output::stdout();
    let width = scenes.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for (name, scene) in &scenes {
        let _ = writeln!(out, "{}  {}", style.bold(&format!("{name:width$}")), scene.title);
    }
    let _ = writeln!(
        out,
        "\nRun one with `dalembert examples run NAME`, copy it with `dalembert examples copy NAME DIR`."
    );
    output::print(&out)
}

/// A scene and the embedded files that it includes.
fn with_parts(file: &str) -> Result<Vec<(&'static str, &'static str)>, Failure> {
    let source = load(file)?.source;
    let read = |name: &str| source.files.iter().any(|file| file.name() == name);
    Ok(SCENES.iter().filter(|(name, _)| read(name)).copied().collect())
}

fn copy(files: &[(&str, &str)], folder: &Path, force: bool) -> Outcome {
    let targets: Vec<(PathBuf, &str)> = files.iter().map(|(name, text)| (folder.join(name), *text)).collect();
    if let Some((path, _)) = targets.iter().find(|(path, _)| path.exists()).filter(|_| !force) {
        return Err(Failure::Io(format!("`{}` exists; --force replaces it", path.display())));
    }
    let mut out = String::new();
    for (path, text) in targets {
        let cannot = |e: std::io::Error| Failure::Io(format!("cannot write `{}`: {e}", path.display()));
        fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(cannot)?;
        fs::write(&path, text).map_err(cannot)?;
        let _ = writeln!(out, "{}", path.display());
    }
    output::print(&out)
}
