//! `dalembert completions`: what a shell needs to complete our command line.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::exit::Outcome;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  dalembert completions bash > ~/.local/share/bash-completion/completions/dalembert
  dalembert completions zsh > ~/.zfunc/_dalembert
  dalembert completions fish > ~/.config/fish/completions/dalembert.fish";

/// What `completions` takes.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn command(args: Args) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "dalembert", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
