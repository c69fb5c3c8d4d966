//! `dalembert schema`: what a scene file may contain.

use clap::ValueEnum;
use dalembert_formats::scene;

use crate::exit::Outcome;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  dalembert schema > schema.json           for editors that complete and check TOML and JSON
  dalembert schema --format markdown | less";

/// What `schema` takes.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// JSON Schema, or a reference for people
    #[arg(long, value_enum, default_value = "json")]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Json,
    Markdown,
    /// The tables of the Python package
    #[value(hide = true)]
    Python,
}

pub(crate) fn command(args: Args) -> Outcome {
    let text = match args.format {
        Format::Json => scene::json_schema(),
        Format::Markdown => format!("# Scene reference\n\n{}", scene::reference()),
        Format::Python => scene::python_tables(),
    };
    output::print(&format!("{}\n", text.trim_end()))
}
