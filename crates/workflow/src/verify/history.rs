//! Histories in files: exported once, verified in CI without a store.
//!
//! Guarantees: a file holds all that is compared; it reads back as it was written; one that is
//! empty or lacks lines at its end is refused. Does not: hold the bodies of commands, whose digests
//! are compared.
//!
//! A file is JSON, one object a line: `{"workflow": {stream, program, head}}`, of one that goes on
//! its `{"snapshot": …}`, then its `{"event": …}` and `{"command": …}` lines in order, then the
//! next workflow; and `{"end": {workflows}}` as the last line. Files may be put together.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use counterfoil_core::domain::workflow::Program;
use counterfoil_core::domain::{EventRow, Stream};
use counterfoil_core::port::bodies::{NoFiles, ReadBodies};
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::workflow::{Issued, Snapshot, Workflows};

use super::history_line::Line;
use super::replay::Replay;
use super::{Archived, PAGE, Verified, goes_on_from, issued, unknown};
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
    /// The file lacks its end.
    #[error("the history is cut short: {why}; export it again")]
    Cut {
        /// What is missing.
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
            Self::Cut { .. } => "CF1211",
            Self::Archived { .. } => "CF1212",
        }
    }
}

/// Histories on their way into one file.
#[must_use = "a file without its last line is refused: `end` writes it"]
pub struct Export<'w, W> {
    to: &'w mut W,
    workflows: u64,
    is_cut: bool,
}

impl<'w, W: Write + Send> Export<'w, W> {
    /// Into this file.
    pub const fn to(to: &'w mut W) -> Self {
        Self { to, workflows: 0, is_cut: false }
    }

    /// Writes the history of a workflow as far as it is now. `false`: no workflow of this stream
    /// has begun.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub async fn workflow<S: Workflows>(
        &mut self,
        store: &S,
        stream: &Stream,
    ) -> Result<bool, HistoryError> {
        self.workflow_from(store, stream, &mut NoFiles).await
    }

    /// The same with the bodies that an archive took, where they lie.
    ///
    /// # Errors
    /// As [`workflow`](Self::workflow). After [`HistoryError::Archived`] another workflow may
    /// follow, unless the file [is cut](Self::is_cut).
    pub async fn workflow_from<S: Workflows>(
        &mut self,
        store: &S,
        stream: &Stream,
        bodies: &mut impl ReadBodies,
    ) -> Result<bool, HistoryError> {
        let Some(listed) = store.workflow(stream.as_str()).await? else { return Ok(false) };
        let head = listed.head;
        if head == 0 {
            return Ok(false);
        }
        let program = Program::parse(&listed.program);
        let saved = match program {
            Some(program) => goes_on_from(store, stream, &program).await?,
            None => None,
        };
        let (stream_text, program_text) = (listed.stream, listed.program);
        let mut begins = Some(Line::Workflow { stream: stream_text, program: program_text, head });
        let (mut after, mut issued_after) = (0, (0, -1));
        while after < head {
            let mut events = store.load_page(stream, after, PAGE).await?;
            events.retain(|event| event.seq <= head);
            bodies.read(&mut events)?;
            if let Some(Archived { seq, file }) = Archived::among(&events) {
                return Err(HistoryError::Archived { workflow: stream.to_string(), seq, file });
            }
            if let Some(begins) = begins.take() {
                self.is_cut = true;
                write_line(self.to, &begins)?;
                self.save(saved.as_ref().filter(|saved| saved.seq <= head))?;
            }
            let Some(last) = events.last() else { break };
            after = last.seq;
            let wanted = events.iter().map(|event| event.commands).sum();
            let issued = issued(store, stream, &mut issued_after, wanted).await?;
            write_rows(self.to, &events, &issued)?;
        }
        self.workflows += 1;
        self.is_cut = false;
        Ok(true)
    }

    /// Whether the file ends within a workflow, since writing it has failed: no reader takes it.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn save(&mut self, saved: Option<&Snapshot>) -> Result<(), HistoryError> {
        let Some(saved) = saved else { return Ok(()) };
        let Ok(state) = String::from_utf8(saved.state.clone()) else { return Ok(()) };
        Ok(write_line(self.to, &Line::Snapshot { seq: saved.seq, state })?)
    }

    /// Writes the last line.
    ///
    /// # Errors
    /// [`HistoryError::Io`].
    pub fn end(self) -> Result<(), HistoryError> {
        Ok(write_line(self.to, &Line::End { workflows: self.workflows })?)
    }
}

/// Writes the history of one workflow as a whole file. `false`: no workflow of this stream has
/// begun, and nothing is written.
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

/// The same with the bodies that an archive took, where they lie.
///
/// # Errors
/// As [`export`].
pub async fn export_from<S: Workflows>(
    store: &S,
    stream: &Stream,
    bodies: &mut impl ReadBodies,
    to: &mut (impl Write + Send),
) -> Result<bool, HistoryError> {
    let mut export = Export::to(to);
    let found = export.workflow_from(store, stream, bodies).await?;
    if found {
        export.end()?;
    }
    Ok(found)
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
    let head = events.last().map_or(0, |event| event.seq);
    write_line(to, &Line::Workflow { stream, program, head })?;
    write_rows(to, events, issued)?;
    write_line(to, &Line::End { workflows: 1 })
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
    let mut file = Reader { programs, all: Vec::new(), reading: None, begun: 0, is_ended: false };
    for (line, text) in (1..).zip(lines.lines()) {
        let text = text?;
        if !text.trim().is_empty() {
            let read = serde_json::from_str(&text).map_err(|why| why.to_string());
            let taken = read.and_then(|read| file.take(read));
            taken.map_err(|why| HistoryError::Line { line, why })??;
        }
    }
    file.end()
}

/// A file of which lines are read.
struct Reader<'p> {
    programs: &'p Programs,
    all: Vec<Verified>,
    reading: Option<Reading>,
    /// How many workflows began since the last line that ends some.
    begun: u64,
    is_ended: bool,
}

impl Reader<'_> {
    /// Takes the next line. `Err`: it is none of a history.
    fn take(&mut self, line: Line) -> Result<Result<(), HistoryError>, String> {
        match line {
            Line::Workflow { stream, program, head } => {
                if let Err(cut) = self.end_workflow() {
                    return Ok(Err(cut));
                }
                let begun = Reading::begin(self.programs, (stream, &program), head);
                self.reading = Some(begun.ok_or("it names no program")?);
                self.begun += 1;
                self.is_ended = false;
            }
            Line::Snapshot { seq, state } => {
                let reading = self.reading()?;
                let (program, state) = (reading.program.clone(), state.into_bytes());
                if let Some(replay) = &mut reading.replay {
                    replay.must_come_to(Snapshot { program, seq, state });
                }
            }
            Line::Event(event) => {
                let reading = self.reading()?;
                let row = event.into_row(&reading.stream);
                reading.event(row.ok_or("the event breaks a rule")?);
            }
            Line::Command(command) => {
                let issued = command.into_issued().ok_or("its digest is none")?;
                self.reading()?.issued.push(issued);
            }
            Line::End { workflows } => return Ok(self.end_some(workflows)),
        }
        Ok(Ok(()))
    }

    fn reading(&mut self) -> Result<&mut Reading, String> {
        self.reading.as_mut().ok_or_else(|| "no workflow begins".into())
    }

    fn end_workflow(&mut self) -> Result<(), HistoryError> {
        if let Some(reading) = self.reading.take() {
            self.all.push(reading.end().map_err(|why| HistoryError::Cut { why })?);
        }
        Ok(())
    }

    fn end_some(&mut self, workflows: u64) -> Result<(), HistoryError> {
        self.end_workflow()?;
        let begun = std::mem::take(&mut self.begun);
        if begun != workflows {
            let why = format!("it has {begun} workflows, and had {workflows}");
            return Err(HistoryError::Cut { why });
        }
        self.is_ended = true;
        Ok(())
    }

    fn end(mut self) -> Result<Vec<Verified>, HistoryError> {
        self.end_workflow()?;
        if self.is_ended {
            return Ok(self.all);
        }
        Err(HistoryError::Cut { why: "its last line is missing".into() })
    }
}

/// A workflow of which lines are read.
struct Reading {
    stream: Stream,
    program: Program,
    replay: Option<Replay>,
    /// The seq of the last event that must come.
    head: i64,
    /// The seq of the last event that came.
    came: i64,
    /// The newest event, whose commands follow.
    event: Option<EventRow>,
    issued: Vec<Issued>,
}

impl Reading {
    fn begin(programs: &Programs, (stream, program): (String, &str), head: i64) -> Option<Self> {
        let (stream, program) = (Stream::new(stream).ok()?, Program::parse(program)?);
        let replay = Replay::begin(programs, &program, &stream);
        Some(Self { stream, program, replay, head, came: 0, event: None, issued: Vec::new() })
    }

    fn event(&mut self, row: EventRow) {
        self.hand_over();
        self.came = row.seq;
        self.event = Some(row);
    }

    fn hand_over(&mut self) {
        let (event, issued) = (self.event.take(), std::mem::take(&mut self.issued));
        if let (Some(replay), Some(event)) = (&mut self.replay, event) {
            replay.take(vec![event], issued);
        }
    }

    /// `Err`: events are missing at its end.
    fn end(mut self) -> Result<Verified, String> {
        self.hand_over();
        let Self { stream, head, came, .. } = &self;
        if came != head {
            return Err(format!("workflow {stream} ends at event {came}, and was at {head}"));
        }
        let unknown = || unknown(self.stream.as_str(), &self.program.to_string());
        Ok(self.replay.map_or_else(unknown, Replay::end))
    }
}
