//! A program of the user's that judges histories: they are piped in, its exit code is the verdict.
//!
//! Guarantees: exit 0 counts only if it took in all that was written; one that ends before that
//! never leaves the writer hanging. Does not: know what it read; it may throw all of it away.

use std::io::{self, BufWriter, PipeReader, PipeWriter, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crate::exit::{Ended, Exit, Failure};

/// A program that runs.
pub(super) struct Judge {
    program: String,
    feed: Feed,
    /// Waits for its end: how it ended, and whether something was left in the pipe.
    end: JoinHandle<io::Result<(ExitStatus, bool)>>,
}

/// The way in; it is over once the program is.
struct Feed {
    to: PipeWriter,
    is_over: Arc<AtomicBool>,
}

impl Write for Feed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_over.load(Ordering::Acquire) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Judge {
    /// Starts it; `is_talk`: what it prints goes to standard error.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start(program: &str, words: &[String], is_talk: bool) -> Result<Self, Failure> {
        let no = |why| Failure::could_not_run(format!("{program} cannot be started: {why}"));
        let (from, to) = io::pipe().map_err(no)?;
        // A reader of our own, so that what the program leaves in the pipe can be seen.
        let left = from.try_clone().map_err(no)?;
        let mut command = Command::new(program);
        command.args(words).stdin(from);
        if is_talk {
            command.stdout(Stdio::from(io::stderr()));
        }
        let child = command.spawn().map_err(no)?;
        // It holds the program's end of the pipe.
        drop(command);
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let end = thread::spawn(move || wait(child, left, &over));
        Ok(Self { program: program.to_owned(), feed: Feed { to, is_over }, end })
    }

    /// Writes the histories, and waits for what it says.
    ///
    /// # Errors
    /// The histories cannot be read, or it gave no verdict on all of them.
    pub(super) fn hears(
        self,
        write: impl FnOnce(&mut BufWriter<Box<dyn Write + Send>>) -> Result<(), Failure>,
    ) -> Ended {
        let Self { program, feed, end } = self;
        let is_over = Arc::clone(&feed.is_over);
        let mut to = BufWriter::new(Box::new(feed) as Box<dyn Write + Send>);
        let written = write(&mut to).and_then(|()| Ok(to.flush()?));
        let was_over = is_over.load(Ordering::Acquire);
        // Not flushed once more: the way in is closed.
        drop(to.into_parts());
        let (status, is_left) = match end.join() {
            Ok(ended) => ended.map_err(Failure::could_not_run)?,
            Err(_) => return Err(Failure::could_not_run(format!("{program} was lost sight of"))),
        };
        let is_short = is_left || (was_over && written.is_err());
        match (status.code(), written) {
            (_, Err(why)) if !is_short => Err(why),
            (Some(1), _) => Ok(Exit::Refused),
            (Some(0), _) if is_short => {
                let text = format!("{program} did not read the histories, so its exit 0 is none");
                Err(Failure::could_not_run(text).help(HELP))
            }
            (Some(0), _) => Ok(Exit::Done),
            _ => {
                let text = format!("{program} ended with {status} before it had judged");
                Err(Failure::could_not_run(text).help(HELP))
            }
        }
    }
}

const HELP: &str = "it must read its standard input to the end, decide again, and exit with 0 or 1";

/// Waits for its end, and empties the pipe, so that nobody waits who still writes.
fn wait(
    mut child: Child,
    mut left: PipeReader,
    is_over: &AtomicBool,
) -> io::Result<(ExitStatus, bool)> {
    let status = child.wait();
    is_over.store(true, Ordering::Release);
    let bytes = io::copy(&mut left, &mut io::sink())?;
    Ok((status?, bytes > 0))
}
