//! Histories in files: exported once, verified in CI without a store.
//!
//! Guarantees: a file holds all that is compared; it reads back as it was written. Does not: hold
//! the bodies of commands, whose digests are compared.
//!
//! A file is JSON, one object a line: `{"workflow": {stream, program}}`, then its
//! `{"event": …}` and `{"command": …}` lines in order, then the next workflow.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use counterfoil_core::domain::workflow::Program;
use counterfoil_core::domain::{EventRow, Stream};
use counterfoil_core::port::bodies::{NoFiles, ReadBodies};
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::workflow::{Issued, Workflows};

use super::history_line::Line;
use super::replay::Replay;
use super::{Archived, PAGE, Verified, issued, unknown};
use crate::programs::Programs;

/// Why a history was not exported or not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The file cannot be read or written.
    #[error("the history cannot be read or written: {0}")]
    Io(#[from] io::Error),
    /// A line is none of a history.
    #[error("line {line} is none of a history: {why}; export it again")]
    Line {
        /// Which, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// The body of an event is archived, and was not found; no line of this page is written.
    #[error(
        "the body of event {seq} of workflow {workflow} is archived in {file}: give its folder, or \
         bring it back with `counterfoil workflow recall`"
    )]
    Archived {
        /// The workflow.
        workflow: String,
        /// The event.
        seq: i64,
        /// The name of the file.
        file: String,
    },
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl HistoryError {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Io(_) => "CF1207",
            Self::Line { .. } => "CF1208",
            Self::Store(_) => "CF1209",
            Self::Archived { .. } => "CF1211",
        }
    }
}

/// Writes the history of a workflow. `false`: no workflow of this stream has begun.
///
/// # Errors
/// [`HistoryError`].
pub async fn export<S: Workflows>(
    store: &S,
    stream: &Stream,
    to: &mut (impl Write + Send),
) -> Result<bool, HistoryError> {
    export_from(store, stream, &mut NoFiles, to).await
}

/// The same with the bodies that an archive took, where they lie. A line of it is written once all
/// bodies of its page are found.
///
/// # Errors
/// As [`export`].
pub async fn export_from<S: Workflows>(
    store: &S,
    stream: &Stream,
    bodies: &mut impl ReadBodies,
    to: &mut (impl Write + Send),
) -> Result<bool, HistoryError> {
    let Some(listed) = store.workflow(stream.as_str()).await? else { return Ok(false) };
    if listed.head == 0 {
        return Ok(false);
    }
    let mut head = Some(Line::Workflow { stream: listed.stream, program: listed.program });
    let (mut after, mut issued_after) = (0, (0, -1));
    loop {
        let mut events = store.load(stream, after, PAGE).await?;
        bodies.read(&mut events)?;
        if let Some(Archived { seq, file }) = Archived::among(&events) {
            return Err(HistoryError::Archived { workflow: stream.to_string(), seq, file });
        }
        if let Some(head) = head.take() {
            write_line(to, &head)?;
        }
        let Some(last) = events.last() else { return Ok(true) };
        after = last.seq;
        let wanted = events.iter().map(|event| event.commands).sum();
        let issued = issued(store, stream, &mut issued_after, wanted).await?;
        write_rows(to, &events, &issued)?;
    }
}

/// Writes a history that is at hand, such as a story's.
///
/// # Errors
/// What the writer reports.
pub(crate) fn write(
    to: &mut impl Write,
    (stream, program): (&Stream, &Program),
    events: &[EventRow],
    issued: &[Issued],
) -> io::Result<()> {
    let (stream, program) = (stream.to_string(), program.to_string());
    write_line(to, &Line::Workflow { stream, program })?;
    write_rows(to, events, issued)
}

fn write_rows(to: &mut impl Write, events: &[EventRow], issued: &[Issued]) -> io::Result<()> {
    let mut issued = issued.iter();
    for event in events {
        write_line(to, &Line::Event(event.into()))?;
        let count = usize::try_from(event.commands).unwrap_or(0);
        for command in issued.by_ref().take(count) {
            write_line(to, &Line::Command(command.into()))?;
        }
    }
    Ok(())
}

fn write_line(to: &mut impl Write, line: &Line) -> io::Result<()> {
    serde_json::to_writer(&mut *to, line)?;
    to.write_all(b"\n")
}

/// Verifies the histories of a file, in their order.
///
/// # Errors
/// [`HistoryError`].
///
/// # Example
/// ```no_run
/// # fn programs() -> counterfoil_workflow::Programs { counterfoil_workflow::Programs::new() }
/// use counterfoil_workflow::verify::history::verify_file;
///
/// for verified in verify_file("tests/histories/trip.jsonl", &programs()).unwrap() {
///     assert!(verified.holds(), "{verified:?}");
/// }
/// ```
pub fn verify_file(
    path: impl AsRef<Path>,
    programs: &Programs,
) -> Result<Vec<Verified>, HistoryError> {
    verify_lines(BufReader::new(File::open(path)?), programs)
}

/// The same of lines that are at hand.
///
/// # Errors
/// [`HistoryError`].
pub fn verify_lines(
    lines: impl BufRead,
    programs: &Programs,
) -> Result<Vec<Verified>, HistoryError> {
    let mut all = Vec::new();
    let mut reading: Option<Reading> = None;
    for (number, line) in (1..).zip(lines.lines()) {
        let line = line?;
        let wrong = |why: String| HistoryError::Line { line: number, why };
        if line.trim().is_empty() {
            continue;
        }
        match serde_json::from_str(&line).map_err(|why| wrong(why.to_string()))? {
            Line::Workflow { stream, program } => {
                all.extend(reading.take().map(Reading::end));
                let begun = Reading::begin(programs, stream, &program);
                reading = Some(begun.ok_or_else(|| wrong("it names no program".into()))?);
            }
            Line::Event(event) => {
                let reading = reading.as_mut().ok_or_else(|| wrong("no workflow begins".into()))?;
                let row = event.into_row(&reading.stream);
                reading.event(row.ok_or_else(|| wrong("the event breaks a rule".into()))?);
            }
            Line::Command(command) => {
                let reading = reading.as_mut().ok_or_else(|| wrong("no workflow begins".into()))?;
                let issued = command.into_issued();
                reading.issued.push(issued.ok_or_else(|| wrong("its digest is none".into()))?);
            }
        }
    }
    all.extend(reading.take().map(Reading::end));
    Ok(all)
}

/// A workflow of which lines are read.
struct Reading {
    stream: Stream,
    program: Program,
    replay: Option<Replay>,
    /// The newest event, whose commands follow.
    event: Option<EventRow>,
    issued: Vec<Issued>,
}

impl Reading {
    fn begin(programs: &Programs, stream: String, program: &str) -> Option<Self> {
        let (stream, program) = (Stream::new(stream).ok()?, Program::parse(program)?);
        let replay = Replay::begin(programs, &program, &stream);
        Some(Self { stream, program, replay, event: None, issued: Vec::new() })
    }

    fn event(&mut self, row: EventRow) {
        self.hand_over();
        self.event = Some(row);
    }

    fn hand_over(&mut self) {
        let (event, issued) = (self.event.take(), std::mem::take(&mut self.issued));
        if let (Some(replay), Some(event)) = (&mut self.replay, event) {
            replay.take(vec![event], issued);
        }
    }

    fn end(mut self) -> Verified {
        self.hand_over();
        self.replay
            .map_or_else(|| unknown(self.stream.as_str(), &self.program.to_string()), Replay::end)
    }
}
