//! How a command ends: exit codes, and errors as a person and as a program reads them.

use std::fmt::{self, Write as _};
use std::io::IsTerminal;

use dalembert_formats::error::{Diagnostic, SceneFileError};
use dalembert_formats::recording::RecordingError;
use serde_json::{Value, json};

use crate::output;

/// The exit codes, as the help shows them.
pub(crate) const CODES: &str = "\
Exit codes:
  0    all went well
  1    it ran, but an expectation was not met or two recordings differ
  2    the command line is wrong
  3    the scene is wrong
  4    a step failed, or the motion diverged
  5    a file cannot be read or written, or a recording is damaged
  130  stopped by Ctrl-C or a signal; the recording is finished up to there";

/// Why a command did not end well.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An expectation was not met, or things differ. The command's own report has said so.
    Unmet,
    /// The command line asks for something impossible.
    Usage(String),
    /// The scene is wrong.
    Scene(Box<SceneFileError>),
    /// A step failed. The command's own report was printed before.
    Step(String),
    /// A file cannot be read or written, or a recording is damaged.
    Io(String),
    /// The user stopped it. The command's own report was printed before.
    Interrupted,
}

/// What a command returns.
pub(crate) type Outcome = Result<(), Failure>;

impl From<SceneFileError> for Failure {
    fn from(error: SceneFileError) -> Self {
        Self::Scene(Box::new(error))
    }
}

impl From<RecordingError> for Failure {
    fn from(error: RecordingError) -> Self {
        Self::Io(error.to_string())
    }
}

impl Failure {
    fn code(&self) -> u8 {
        match self {
            Self::Unmet => 1,
            Self::Usage(_) => 2,
            Self::Scene(_) => 3,
            Self::Step(_) => 4,
            Self::Io(_) => 5,
            Self::Interrupted => 130,
        }
    }

    /// What went wrong, without colours.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Unmet => "an expectation was not met".into(),
            Self::Usage(message) | Self::Step(message) | Self::Io(message) => message.clone(),
            Self::Scene(error) => error.to_string(),
            Self::Interrupted => "stopped".into(),
        }
    }

    /// For people, on the standard error.
    fn text(&self) -> Option<String> {
        match self {
            Self::Unmet => None,
            Self::Usage(message) | Self::Step(message) | Self::Io(message) => {
                Some(format!("{}: {message}", output::stderr().red("error")))
            }
            Self::Scene(error) => Some(render(error.diagnostics(), error.to_string())),
            Self::Interrupted => Some("stopped".into()),
        }
    }

    /// For programs, on the standard output; `None` where the command has printed its own object.
    fn json(&self) -> Option<Value> {
        let errors = match self {
            Self::Unmet | Self::Step(_) | Self::Interrupted => return None,
            Self::Usage(message) | Self::Io(message) => json!([{ "message": message }]),
            Self::Scene(error) => diagnostics_json(error.diagnostics()),
        };
        let status = match self {
            Self::Usage(_) => "bad_usage",
            Self::Scene(_) => "bad_scene",
            _ => "io_error",
        };
        Some(json!({ "status": status, "errors": errors }))
    }
}

/// Prints what went wrong, if anything, and chooses the exit code.
pub(crate) fn finish(outcome: Outcome, as_json: bool) -> u8 {
    let Err(failure) = outcome else {
        return 0;
    };
    if let Some(object) = failure.json().filter(|_| as_json) {
        // Whatever happens here, the failure decides the exit code.
        let _ = output::print(&format!("{object:#}\n"));
    }
    if let Some(text) = failure.text() {
        eprintln!("{}", text.trim_end());
    }
    failure.code()
}

/// Prints warnings on the standard error.
pub(crate) fn warn(warnings: &[Diagnostic]) {
    if !warnings.is_empty() {
        let plain = warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n\n");
        eprintln!("{}", render(warnings, plain).trim_end());
    }
}

/// Drawn on a terminal, plain elsewhere.
fn render(diagnostics: &[Diagnostic], plain: String) -> String {
    if !std::io::stderr().is_terminal() {
        return plain;
    }
    let theme = match output::stderr().colour {
        true => miette::GraphicalTheme::unicode(),
        false => miette::GraphicalTheme::unicode_nocolor(),
    };
    let handler = miette::GraphicalReportHandler::new_themed(theme);
    let mut drawn = String::new();
    for diagnostic in diagnostics {
        if handler.render_report(&mut drawn, &Drawn(diagnostic)).is_err() {
            return plain;
        }
        let _ = writeln!(drawn);
    }
    drawn
}

/// A diagnostic to draw: its excerpt is drawn from its place, so its text is the message alone.
#[derive(Debug)]
struct Drawn<'a>(&'a Diagnostic);

impl fmt::Display for Drawn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&output::safe(&self.0.message))
    }
}

impl std::error::Error for Drawn<'_> {}

impl miette::Diagnostic for Drawn<'_> {
    fn severity(&self) -> Option<miette::Severity> {
        self.0.severity()
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0.help()
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.0.source_code()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        self.0.labels()
    }
}

/// Errors or warnings for programs.
pub(crate) fn diagnostics_json(diagnostics: &[Diagnostic]) -> Value {
    let one = |d: &Diagnostic| {
        let (line, column) = d.line_column().unzip();
        json!({ "message": d.message, "file": d.file_name(), "line": line, "column": column, "help": d.help })
    };
    diagnostics.iter().map(one).collect()
}
