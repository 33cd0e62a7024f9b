//! A process of a drill: started from the same executable, heard, killed or ended.
//!
//! Guarantees: it never outlives the drill: it is killed when dropped, and ends when its standard
//! input does, should the drill itself be killed. Does not: start it again.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::site::Site;
use crate::exit::Failure;

/// How long one process may take to do one thing.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// How long a clean end may take before the process is killed.
const END_PATIENCE: Duration = Duration::from_secs(15);
/// How often a process that ends is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// A running process.
pub(super) struct Process {
    name: String,
    child: Child,
    said: Receiver<String>,
    log: std::path::PathBuf,
}

impl Process {
    /// Starts this executable with `args`; its talk goes to `NAME.log`.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn start(site: &Site, name: &str, args: &[&str]) -> Result<Self, Failure> {
        let log = site.folder().join(format!("{name}.log"));
        let refused = |error: std::io::Error| {
            Failure::could_not_run(format!("the drill's process {name} cannot start: {error}"))
        };
        let file: File =
            OpenOptions::new().create(true).append(true).open(&log).map_err(refused)?;
        let mut child = Command::new(&site.program)
            .args(args)
            .current_dir(site.folder())
            .env_remove(crate::config::store_url::VARIABLE)
            .env_remove(crate::logging::VARIABLE)
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(file)
            .spawn()
            .map_err(refused)?;
        let (say, said) = channel();
        if let Some(out) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    if say.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Self { name: name.to_owned(), child, said, log })
    }

    /// Waits until it says a line that begins with `word`.
    ///
    /// # Errors
    /// It ended, or did not say it in time.
    pub(super) fn hear(&self, word: &str, patience: Duration) -> Result<String, Failure> {
        let end = Instant::now() + patience;
        loop {
            match self.said.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) if line.starts_with(word) => return Ok(line),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => {
                    return Err(self.failed(&format!("did not say {word:?} in time")));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.failed("ended too soon")),
            }
        }
    }

    /// Whether it has said a line that begins with `word`, of those not heard before.
    pub(super) fn has_said(&self, word: &str) -> bool {
        self.said.try_iter().any(|line| line.starts_with(word))
    }

    /// Fails if it ended without being told to.
    ///
    /// # Errors
    /// It ended.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(self.failed(&format!("ended by itself ({status})"))),
            Err(error) => Err(self.failed(&format!("cannot be watched: {error}"))),
        }
    }

    /// Whether the last that it said is that its store's server cannot be used.
    pub(super) fn found_no_server(&self) -> bool {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let last = text.lines().rev().find(|line| !line.starts_with("help: "));
        last.is_some_and(|line| line.starts_with("error: ") && line.contains("cannot be used"))
    }

    /// Waits for its end by a fault on purpose.
    ///
    /// # Errors
    /// It does not end in time, or not by a signal.
    pub(super) fn dies(mut self, patience: Duration) -> Result<(), Failure> {
        let end = Instant::now() + patience;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) if status.code().is_none() => return Ok(()),
                Ok(None) if Instant::now() < end => std::thread::sleep(LOOK),
                Ok(None) => return Err(self.failed("did not die in time")),
                Ok(Some(status)) => return Err(self.failed(&format!("ended by itself ({status})"))),
                Err(error) => return Err(self.failed(&format!("cannot be watched: {error}"))),
            }
        }
    }

    /// SIGKILL.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn kill(mut self) -> Result<(), Failure> {
        let killed = self.child.kill().and_then(|()| self.child.wait());
        killed.map(|_| ()).map_err(|error| self.failed(&format!("cannot be killed: {error}")))
    }

    /// Ends it cleanly by the end of its standard input; whether it did in time.
    pub(super) fn end(mut self) -> bool {
        drop(self.child.stdin.take());
        let end = Instant::now() + END_PATIENCE;
        while Instant::now() < end {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.success(),
                Ok(None) => std::thread::sleep(LOOK),
                Err(_) => return false,
            }
        }
        false
    }

    fn failed(&self, why: &str) -> Failure {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let last: Vec<_> = text.lines().rev().take(3).collect();
        let failure = Failure::could_not_run(format!("the drill's process {} {why}", self.name));
        last.into_iter()
            .rev()
            .fold(failure, |failure, line| failure.help(format!("its log says: {line}")))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
