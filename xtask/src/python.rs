//! The Python package: its wheel is built, installed in a fresh virtual environment, and tested there.
//!
//! The wheel of the tests is built in the dev profile (optimised, without link-time optimisation), whose libraries the
//! tests of the workspace have compiled already.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::run::{files, output, pass, root, scratch, target};

/// Largest wheel \[bytes\].
const MOST_BYTES: u64 = 25 << 20;
const TOOLS: [&str; 6] = ["maturin>=1.9.4,<2", "pytest>=8", "mypy>=1.11", "gymnasium>=1.0", "numpy", "pip"];

/// Builds the wheel and runs pytest with the newest NumPy; with 1.26 too where it has a wheel for this Python.
pub(crate) fn test() -> Outcome {
    let python = interpreter()?;
    let venv = Venv::fresh(&python, "python")?;
    venv.install(&TOOLS)?;
    if let Err(reason) = venv.install(&["--only-binary", ":all:", "mujoco"]) {
        println!("the bridge to MuJoCo will be skipped: {}", reason.lines().next().unwrap_or_default());
    }
    let wheel = venv.wheel()?;
    let wheel = wheel.to_str().ok_or("the wheel has no plain name")?;
    venv.install(&["--force-reinstall", "--no-deps", wheel])?;
    venv.pytest()?;
    // NumPy 1.26 has wheels up to Python 3.12.
    match venv.install(&["--only-binary", ":all:", "numpy==1.26.*"]) {
        Ok(()) => venv.pytest(),
        Err(_) => {
            println!("skipped with NumPy 1.26: it has no wheel for this Python");
            Ok(())
        }
    }
}

/// A Python that can make virtual environments.
fn interpreter() -> Outcome<PathBuf> {
    let name = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let version = "import sys; assert sys.version_info >= (3, 10), 'Python 3.10 or later is needed'; import venv, ensurepip";
    let mut command = Command::new(&name);
    output(command.args(["-c", version])).map_err(|e| {
        format!("the Python package needs python3 (3.10 or later) with the modules `venv` and `ensurepip` (or PYTHON=…): {e}")
    })?;
    Ok(name.into())
}

struct Venv(PathBuf);

impl Venv {
    fn fresh(python: &Path, name: &str) -> Outcome<Self> {
        let folder = scratch()?.join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)
                .map_err(|e| format!("cannot remove `{}`: {e}", folder.display()))?;
        }
        output(Command::new(python).args(["-m", "venv"]).arg(&folder))?;
        Ok(Self(folder))
    }

    fn python(&self) -> Command {
        let place = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
        let mut command = Command::new(self.0.join(place));
        command.current_dir(root());
        command
    }

    fn install(&self, packages: &[&str]) -> Outcome {
        output(
            self.python()
                .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
                .args(packages),
        )
        .map(drop)
    }

    /// Builds the wheel and returns its path.
    fn wheel(&self) -> Outcome<PathBuf> {
        let folder = target().join("wheels-test");
        if folder.exists() {
            std::fs::remove_dir_all(&folder)
                .map_err(|e| format!("cannot remove `{}`: {e}", folder.display()))?;
        }
        let mut build = self.python();
        build
            .args(["-m", "maturin", "build", "--profile", "dev", "--auditwheel", "skip", "--out"])
            .arg(&folder);
        pass(&mut build)?;
        let mut wheels = files(&folder, "whl")?;
        let wheel = wheels.pop().ok_or("maturin left no wheel")?;
        let size = std::fs::metadata(&wheel).map_err(|e| e.to_string())?.len();
        println!("{}: {:.1} MB", wheel.file_name().unwrap_or_default().to_string_lossy(), size as f64 / 1e6);
        match size < MOST_BYTES {
            true => Ok(wheel),
            false => Err(format!("the wheel has {size} bytes, more than {MOST_BYTES}")),
        }
    }

    /// The tests see the installed package, not the sources.
    fn pytest(&self) -> Outcome {
        let tests = root().join("crates/dalembert-py/tests");
        let mut command = self.python();
        command.args(["-m", "pytest", "-p", "no:cacheprovider", "--rootdir"]).arg(&tests).arg(&tests);
        match crate::conformance::shared() {
            Some(folder) => drop(command.env("DALEMBERT_SHARED", folder)),
            None => println!("robots of others under MuJoCo will be skipped: no shared data"),
        }
        pass(command.current_dir(scratch()?).env("PYTHONDONTWRITEBYTECODE", "1"))
    }
}
