//! One stage of a run: a program with a name, started at the root of the tree and timed.
//!
//! Guarantees: a line before and after each stage; a failure carries the command to repeat it.
//! Does not: set a time limit; whoever started the run ends it.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::tally::Tally;

/// The folder that holds the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// The cargo that runs this command, so that a stage uses the same toolchain.
pub(crate) fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// Whether `program` can be started and ends well with `args`; says nothing.
pub(crate) fn answers(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// What `program` prints with `args`, run at the root.
///
/// # Errors
/// The program cannot be started, ends non-zero, or prints what is not UTF-8.
pub(crate) fn output_of(program: &str, args: &[&str]) -> Result<String> {
    let mut command = Command::new(program);
    let done = command.args(args).current_dir(root()).stdin(Stdio::null()).output();
    let done = done.with_context(|| format!("cannot start `{program}`"))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        bail!("`{program} {}` ended with {}: {}", args.join(" "), done.status, said.trim());
    }
    String::from_utf8(done.stdout).with_context(|| format!("`{program}` printed no UTF-8"))
}

/// A named program with its arguments.
pub(crate) struct Stage {
    name: &'static str,
    program: String,
    args: Vec<String>,
    env: Vec<(&'static str, &'static str)>,
}

impl Stage {
    /// A stage that runs cargo.
    pub(crate) fn cargo(name: &'static str, args: &[&str]) -> Self {
        Self::of(name, &cargo(), args)
    }

    /// A stage that runs any program.
    pub(crate) fn of(name: &'static str, program: &str, args: &[&str]) -> Self {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Self { name, program: program.to_owned(), args, env: Vec::new() }
    }

    /// More arguments, as they were typed.
    pub(crate) fn with_args(mut self, more: &[String]) -> Self {
        self.args.extend_from_slice(more);
        self
    }

    /// One variable of the environment.
    pub(crate) fn with_env(mut self, name: &'static str, value: &'static str) -> Self {
        self.env.push((name, value));
        self
    }

    /// Runs the stage with the terminal handed through.
    ///
    /// # Errors
    /// The program cannot be started or ends non-zero.
    pub(crate) fn run(&self) -> Result<()> {
        let started = self.announce();
        let status = self.command().status().with_context(|| self.not_started())?;
        self.judge(status.success(), started)
    }

    /// Runs the stage, hands its output through line by line, and counts the tests it reports.
    ///
    /// # Errors
    /// The program cannot be started or ends non-zero.
    pub(crate) fn run_counted(&self, tally: &mut Tally) -> Result<()> {
        let started = self.announce();
        let mut command = self.command();
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| self.not_started())?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        // Two pipes, two readers: one reader for both would stop at the first full pipe.
        let (from_out, from_err) = std::thread::scope(|scope| {
            let out = scope.spawn(|| hand_through(out, &mut std::io::stdout()));
            let from_err = hand_through(err, &mut std::io::stderr());
            (out.join().unwrap_or_default(), from_err)
        });
        tally.add(&from_out);
        tally.add(&from_err);
        let status = child.wait().with_context(|| self.not_started())?;
        self.judge(status.success(), started)
    }

    fn announce(&self) -> Instant {
        eprintln!("\n==> {}: {}", self.name, self.typed());
        Instant::now()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).envs(self.env.iter().copied());
        command.current_dir(root()).stdin(Stdio::null());
        command
    }

    fn judge(&self, success: bool, started: Instant) -> Result<()> {
        if !success {
            bail!("{}; to repeat this stage alone: {}", self.name, self.typed());
        }
        eprintln!("    {} ok, {:.1} s", self.name, started.elapsed().as_secs_f64());
        Ok(())
    }

    fn not_started(&self) -> String {
        format!("{}: cannot run `{}`", self.name, self.program)
    }

    fn typed(&self) -> String {
        let program = Path::new(&self.program).file_name().unwrap_or_default();
        let env = self.env.iter().map(|(name, value)| format!("{name}='{value}'"));
        let words = std::iter::once(program.to_string_lossy().into_owned());
        env.chain(words).chain(self.args.iter().cloned()).collect::<Vec<_>>().join(" ")
    }
}

fn hand_through(from: Option<impl Read>, to: &mut impl Write) -> Tally {
    let mut tally = Tally::default();
    let Some(from) = from else { return tally };
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        // A closed terminal must not end the tests: their exit code still counts.
        let _ = to.write_all(&line).and_then(|()| to.flush());
        tally.read_line(&String::from_utf8_lossy(&line));
        line.clear();
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_program_fails_its_stage_and_names_the_command() {
        let stage = Stage::of("trial", "sh", &["-c", "exit 3"]);
        let said = stage.run().unwrap_err().to_string();
        assert!(said.contains("trial") && said.contains("exit 3"), "{said}");
        assert!(Stage::of("trial", "no-such-program", &[]).run().is_err());
    }

    #[test]
    fn lines_are_handed_through_as_they_are_and_counted() {
        let said = b"test result: ok. 4 passed; 0 failed; 1 ignored\n\xff no newline";
        let mut seen = Vec::new();
        let tally = hand_through(Some(&said[..]), &mut seen);
        assert_eq!(seen, said);
        assert_eq!(tally.to_string(), "tests: 4 passed, 0 failed, 1 skipped");
    }

    #[test]
    fn a_counted_stage_fails_with_its_program() {
        let stage = |code| Stage::of("trial", "sh", &["-c", code]);
        assert!(stage("exit 0").run_counted(&mut Tally::default()).is_ok());
        assert!(stage("exit 3").run_counted(&mut Tally::default()).is_err());
    }
}
