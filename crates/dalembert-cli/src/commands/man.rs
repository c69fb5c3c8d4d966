//! `dalembert man`: manual pages.

use std::path::PathBuf;

use clap::CommandFactory;

use crate::exit::{Failure, Outcome};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  dalembert man | man -l -                       read it now
  dalembert man ~/.local/share/man/man1          write the pages of all commands";

/// What `man` takes.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder for the pages of all commands; the main page is printed if not given
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

pub(crate) fn command(args: Args) -> Outcome {
    let Some(folder) = args.folder else {
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(crate::Cli::command()).render(&mut page);
        rendered.map_err(|e| Failure::Io(format!("cannot make the manual page: {e}")))?;
        return output::print(&String::from_utf8_lossy(&page));
    };
    let cannot = |e: std::io::Error| Failure::Io(format!("cannot write to `{}`: {e}", folder.display()));
    std::fs::create_dir_all(&folder).map_err(cannot)?;
    clap_mangen::generate_to(crate::Cli::command(), &folder).map_err(cannot)
}
