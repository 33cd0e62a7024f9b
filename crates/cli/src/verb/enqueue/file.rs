//! `enqueue --from`: many commands from a file of JSON lines.
//!
//! Guarantees: bounded memory, whatever the file's length; a refused line stops none of the
//! others; a broken one ends the run after all before it were recorded, and what was recorded is
//! said. Does not: record the file as one; run it again, and what stands is repeated.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, IsTerminal};
use std::path::Path;

use counterfoil_core::domain::Command;
use counterfoil_core::domain::command::BODY_BYTES_LIMIT;
use counterfoil_core::port::Store;
use counterfoil_core::port::store::{Recorded, StoreError};
use indicatif::{ProgressBar, ProgressStyle};

use super::row::{NoCommand, command};
use super::warn_unserved;
use crate::args::{LogFormat, Shared};
use crate::exit::{Ended, Exit, Failure, complain};
use crate::output;
use crate::store::OpenStore;
use crate::verb::{Found, block_on};

/// How many commands are recorded in one transaction.
const BATCH: usize = 1000;
/// How many bytes of bodies, about, at most.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// The longest line: the longest body, where JSON needs six bytes for one.
const LINE_BYTES_MAX: usize = 6 * BODY_BYTES_LIMIT + 1024 * 1024;
/// What some editors and shells write before the first line of a file in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// How many refused lines are told one by one.
const TOLD: u64 = 100;
/// How many destinations are remembered as already warned about.
const WARNED: usize = 100;

/// Records a file.
///
/// # Errors
/// The file or the store fails, or a line is broken; the message says what was recorded.
pub(super) fn run(shared: &Shared, path: &Path) -> Ended {
    let found = Found::new(shared)?;
    let input = open(path)?;
    let store = found.open()?;
    let mut import = Import::new(&store, &found, bar(path), shared.log_format);
    let broken = import.all(input);
    let recorded = import.record();
    import.bar.finish_and_clear();
    let sum = import.sum();
    match broken.and(recorded) {
        Ok(()) => {
            output::line(&sum)?;
            Ok(if import.refused > 0 { Exit::Refused } else { Exit::Done })
        }
        Err(failure) => Err(failure
            .help(format!("until then: {sum}"))
            .help("correct it and give the same file again: what stands is repeated")),
    }
}

fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if path == Path::new("-") {
        let stdin = std::io::stdin();
        if stdin.is_terminal() {
            return Err(Failure::could_not_run("standard input is a terminal")
                .help("pipe the lines in, or give --from FILE"));
        }
        return Ok(Box::new(stdin.lock()));
    }
    let opened = std::fs::File::open(path).map_err(|error| {
        Failure::could_not_run(format!("--from {} cannot be read: {error}", path.display()))
    })?;
    Ok(Box::new(BufReader::with_capacity(1 << 16, opened)))
}

/// A bar on a terminal, by bytes; nothing elsewhere.
fn bar(path: &Path) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let length = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
    let Some(length) = length.map(|file| file.len()) else { return ProgressBar::new_spinner() };
    let form = "{bar:40} {percent}% {binary_bytes}/{binary_total_bytes}, {eta} left: {msg}";
    let style = ProgressStyle::with_template(form);
    ProgressBar::new(length).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// A run through a file.
struct Import<'s> {
    store: &'s OpenStore,
    found: &'s Found,
    bar: ProgressBar,
    format: LogFormat,
    batch: Vec<(u64, Command)>,
    batch_bytes: usize,
    warned: BTreeSet<String>,
    line: u64,
    recorded: u64,
    repeated: u64,
    refused: u64,
}

impl<'s> Import<'s> {
    fn new(store: &'s OpenStore, found: &'s Found, bar: ProgressBar, format: LogFormat) -> Self {
        Self {
            store,
            found,
            bar,
            format,
            batch: Vec::new(),
            batch_bytes: 0,
            warned: BTreeSet::new(),
            line: 0,
            recorded: 0,
            repeated: 0,
            refused: 0,
        }
    }

    /// Reads to the end, or to the first broken line; the last batch is left to be recorded.
    fn all(&mut self, mut input: impl BufRead) -> Result<(), Failure> {
        let mut line = Vec::new();
        loop {
            line.clear();
            self.line += 1;
            let number = self.line;
            let broken = |why: &str| Failure::could_not_run(format!("line {number}: {why}"));
            let most = LINE_BYTES_MAX as u64;
            let read = std::io::Read::take(&mut input, most).read_until(b'\n', &mut line);
            if read.map_err(|error| broken(&error.to_string()))? == 0 {
                self.line -= 1;
                return Ok(());
            }
            if line.len() >= LINE_BYTES_MAX {
                return Err(broken("it is too long: a body has at most 16 MiB"));
            }
            self.bar.inc(line.len() as u64);
            if number == 1 && line.starts_with(BYTE_ORDER_MARK) {
                line.drain(..BYTE_ORDER_MARK.len());
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match command(&line, self.store.now()?) {
                Ok(command) => self.add(command)?,
                Err(NoCommand::Refused(why)) => self.refuse(number, &why),
                Err(NoCommand::Broken(why)) => return Err(broken(&why)),
            }
            // One long line does not keep its room for the rest.
            line.shrink_to(BATCH_BYTES);
        }
    }

    fn add(&mut self, command: Command) -> Result<(), Failure> {
        let to = command.destination.as_str();
        if !self.warned.contains(to) && self.warned.len() < WARNED {
            self.warned.insert(to.to_owned());
            self.bar.suspend(|| warn_unserved(self.found, &command));
        }
        self.batch_bytes += command.body.len();
        self.batch.push((self.line, command));
        if self.batch.len() < BATCH && self.batch_bytes < BATCH_BYTES {
            return Ok(());
        }
        self.record()
    }

    /// Records what has been gathered.
    fn record(&mut self) -> Result<(), Failure> {
        let (lines, commands): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.batch).into_iter().unzip();
        self.batch_bytes = 0;
        let (Some(first), Some(last)) = (lines.first(), lines.last()) else { return Ok(()) };
        let failed =
            |error: StoreError| Failure::could_not_run(format!("lines {first} to {last}: {error}"));
        let answers = block_on(async { self.store.enqueue(commands).await.map_err(failed) })?;
        for (line, answer) in lines.into_iter().zip(answers) {
            match answer {
                Ok(Recorded::Recorded) => self.recorded += 1,
                Ok(Recorded::Repeated) => self.repeated += 1,
                Err(refused) => self.refuse(line, &refused.to_string()),
            }
        }
        let counted = format!("{} recorded, {} refused", self.recorded, self.refused);
        self.bar.set_message(counted);
        Ok(())
    }

    fn refuse(&mut self, line: u64, why: &str) {
        self.refused += 1;
        let said = match self.refused {
            ..=TOLD => format!("line {line}: {why}"),
            n if n == TOLD + 1 => "more lines are refused; they are counted only".to_owned(),
            _ => return,
        };
        self.bar.suspend(|| complain(&said, self.format));
    }

    fn sum(&self) -> String {
        let Self { recorded, repeated, refused, .. } = self;
        format!("{recorded} recorded, {repeated} repeated, {refused} refused")
    }
}
