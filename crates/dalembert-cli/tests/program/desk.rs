//! A folder to run the program in, and scenes for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use dalembert_formats::recording::Recording;
use serde_json::Value;
use tempfile::TempDir;

/// A folder to run in, with the program at hand.
pub(crate) struct Desk(pub(crate) TempDir);

impl Desk {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dalembert"));
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null()).env_remove("NO_COLOR");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Answer {
        Answer::from(self.command(arguments).output().unwrap())
    }

    /// Runs a command that must succeed.
    pub(crate) fn ok(&self, arguments: &[&str]) -> Answer {
        let answer = self.run(arguments);
        assert_eq!(answer.code, 0, "{arguments:?}\n{}{}", answer.out, answer.err);
        answer
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Answer {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}", self.out))
    }
}

/// A ball thrown upwards: z = 2 + 3 t − ½ g t².
pub(crate) const BALL: &str = r#"
title = "A thrown ball"
dt = 0.01
duration = 0.5
explicit = { integrator = "verlet" }

[[particles]]
name = "ball"
position = [0, 0, 2]
velocity = [1, 0, 3]
mass = 0.5

[[expect]]
quantity = "ball.z"
value = 2.27375
tolerance = 1e-9

[[expect]]
quantity = "energy.drift"
value = 0
tolerance = 1e-12
always = true
"#;

/// Springs, a force between near points, drag, something random: large enough for several threads.
pub(crate) const CROWD: &str = r#"
title = "A crowd"
dt = 0.002
duration = 0.06

[[particles]]
name = "net"
grid = { size = [29, 29, 23], count = [30, 30, 24] }
mass = 0.1

[[particles]]
name = "gas"
cloud = { size = [29, 29, 23], count = 2000 }
mass = 0.2
velocity = [0, 1, -2]

[[springs]]
name = "net"
along = "net"
stiffness = 100
damping = 0.1

[[pair_force]]
name = "touch"
soft_repulsion = { stiffness = 50, diameter = 0.8 }

[[drag]]
linear = 0.01
"#;

pub(crate) fn final_state(path: &Path) -> Vec<u64> {
    Recording::open(path).unwrap().last_frame().unwrap().state.iter().map(|x| x.to_bits()).collect()
}

pub(crate) const PENDULUM: &str = r#"<mujoco model="pendulum">
  <option timestep="0.002"/>
  <worldbody>
    <body name="bob" pos="0 0 1">
      <joint name="pivot" axis="0 1 0" damping="0.1" armature="0.01"/>
      <geom type="sphere" size="0.05" pos="0.3 0 -0.4" mass="2"/>
    </body>
  </worldbody>
  <actuator><motor name="turn" joint="pivot"/></actuator>
</mujoco>"#;
