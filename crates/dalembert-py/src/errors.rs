//! Exceptions: the texts are those of the program.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(dalembert, Error, PyException, "Anything that dalembert refuses.");
create_exception!(
    dalembert,
    SceneError,
    Error,
    "A scene or robot file is wrong: file, line, name and number."
);
create_exception!(dalembert, StepError, Error, "A step failed. The state is as it was before the step.");
create_exception!(
    dalembert,
    DivergedError,
    StepError,
    "The motion ran away: its numbers overflowed, or the step makes energy from nothing. The state is as it was before \
     the step; a smaller dt or the method `implicit` or `ipc` would help."
);
create_exception!(
    dalembert,
    BusyError,
    Error,
    "A simulation is being stepped already, by another thread or from within a callback."
);
create_exception!(dalembert, RecordingError, Error, "A recording cannot be read or written.");

/// A scene that is wrong.
pub(crate) fn scene(error: impl std::fmt::Display) -> PyErr {
    SceneError::new_err(error.to_string())
}

/// A step that failed.
pub(crate) fn step(error: dalembert::step::StepError) -> PyErr {
    let text = error.to_string();
    if error.is_divergence() { DivergedError::new_err(text) } else { StepError::new_err(text) }
}

/// A recording that cannot be read or written.
pub(crate) fn recording(error: impl std::fmt::Display) -> PyErr {
    RecordingError::new_err(error.to_string())
}

/// A name that nothing has, with the nearest that something has.
pub(crate) fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> PyErr {
    let known: Vec<&str> = known.into_iter().collect();
    let near = known.iter().map(|k| (strsim::jaro_winkler(k, name), *k)).max_by(|a, b| a.0.total_cmp(&b.0));
    let help = match near {
        Some((likeness, k)) if likeness > 0.8 => format!("; did you mean `{k}`?"),
        Some(_) => format!(
            "; there are {}",
            known.iter().take(20).map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ")
        ),
        None => String::new(),
    };
    pyo3::exceptions::PyKeyError::new_err(format!("there is no {what} `{name}`{help}"))
}
