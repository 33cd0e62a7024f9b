//! `workflow verify`: hands stored histories to the user's program, or to a file.
//!
//! Guarantees: bounded memory; a program's exit code is this command's; a history with a body that
//! is archived and not at hand is left out, named, and makes exit 1. Does not: decide anything
//! itself, since the programs are the user's: see `judge`.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use counterfoil_archive::BodyReader;
use counterfoil_core::domain::Stream;
use counterfoil_core::domain::workflow::Status;
use counterfoil_core::port::Workflows as _;
use counterfoil_core::port::workflow::{ListedWorkflow, WorkflowFilter};
use counterfoil_workflow::verify::history::{Export, HistoryError};
use serde_json::{Value, json};

use super::judge::Judge;
use super::{Found, block_on, files, unknown};
use crate::args::{LogFormat, Shared, VerifyWorkflows};
use crate::exit::{Ended, Exit, Failure, complain};
use crate::output::{self, table::cell};
use crate::store::OpenStore;

/// How many workflows are listed at once.
const PAGE: usize = 500;

/// Does `workflow verify`.
///
/// # Errors
/// Neither a file nor a program is named, what was named has no history, the store cannot be read,
/// or either cannot be written to.
pub(super) fn run(shared: &Shared, args: &VerifyWorkflows) -> Ended {
    if args.export.is_none() && args.program.is_empty() {
        let text = "deciding again takes your program: name it after `--`, or --export FILE";
        return Err(Failure::could_not_run(text).help(
            "counterfoil workflow verify -- target/release/my-service verify, where that calls \
             `verify::judge`; see docs/workflows.md. What needs no program, `counterfoil audit` \
             proves",
        ));
    }
    if args.json && args.export.as_deref() == Some(Path::new("-")) {
        let text = "--json and --export - both write to standard output";
        return Err(Failure::could_not_run(text).help("export into a file"));
    }
    let found = Found::new(shared)?;
    let store = found.open()?;
    block_on(has_any(&found, &store, args))?;
    let mut histories = Histories {
        format: shared.log_format,
        found: &found,
        store: &store,
        bodies: files(&found, &args.archive)?,
        left_out: BTreeSet::new(),
        written: 0,
    };
    if let Some(path) = &args.export {
        let mut file = open(path)?;
        block_on(histories.write(args, &mut file))?;
        file.flush()?;
    }
    let judged = match args.program.split_first() {
        None => None,
        Some((program, words)) => {
            let judge = Judge::start(program, words, args.json)?;
            Some(judge.hears(|to| block_on(histories.write(args, to)))?)
        }
    };
    if args.json {
        output::line(&histories.to_json(judged).to_string())?;
    }
    Ok(judged.unwrap_or(Exit::Done).and(histories.exit()))
}

/// Refuses where what was named has no history, before a file or a program is begun.
async fn has_any(found: &Found, store: &OpenStore, args: &VerifyWorkflows) -> Result<(), Failure> {
    if let Some(name) = &args.stream {
        let row = store.workflow(name).await?;
        return match row {
            Some(row) if row.head > 0 => Ok(()),
            Some(row) => Err(without_history(&row)),
            None => Err(unknown(found, name)),
        };
    }
    let Some(name) = &args.workflow else { return Ok(()) };
    let mut after = None;
    loop {
        let (name, limit) = (Some(name.clone()), PAGE);
        let rows = store
            .workflows(WorkflowFilter { name, after, limit, ..WorkflowFilter::default() })
            .await?;
        if rows.iter().any(|row| row.head > 0) {
            return Ok(());
        }
        let Some(last) = rows.last() else { break };
        after = Some(last.stream.clone());
    }
    let text = format!("{}: no workflow of the program {name:?} has a history", found.url);
    Err(Failure::refused(text).help("`counterfoil workflow list` names those that are there"))
}

/// Something waits for it, and nothing was decided.
fn without_history(row: &ListedWorkflow) -> Failure {
    let stream = cell(&row.stream);
    let why = match row.status {
        Some(Status::Quarantined) => "is quarantined and never began",
        None if row.is_waiting() => "waits for its start to be decided",
        _ => "was never started",
    };
    Failure::refused(format!("workflow {stream} {why}: it has no history to verify"))
        .help(format!("counterfoil workflow show {stream}"))
}

fn open(path: &Path) -> Result<BufWriter<Box<dyn Write + Send>>, Failure> {
    if path == Path::new("-") {
        return Ok(BufWriter::new(Box::new(std::io::stdout())));
    }
    let file = File::create(path).map_err(|why| {
        Failure::could_not_run(format!("{} cannot be written: {why}", path.display()))
    })?;
    Ok(BufWriter::new(Box::new(file)))
}

/// The histories of a store, on their way to a file or a program.
struct Histories<'a> {
    format: LogFormat,
    found: &'a Found,
    store: &'a OpenStore,
    bodies: BodyReader,
    /// The workflows whose bodies are archived and not at hand.
    left_out: BTreeSet<String>,
    /// How many were written last.
    written: u64,
}

impl Histories<'_> {
    async fn write(
        &mut self,
        args: &VerifyWorkflows,
        to: &mut (impl Write + Send),
    ) -> Result<(), Failure> {
        self.written = 0;
        let mut export = Export::to(to);
        if let Some(name) = &args.stream {
            let stream = Stream::new(name.clone()).map_err(Failure::refused)?;
            if !self.add(&mut export, &stream).await? {
                return Err(unknown(self.found, name));
            }
            return export.end().map_err(failed);
        }
        let mut after = None;
        loop {
            let (name, limit) = (args.workflow.clone(), PAGE);
            let filter = WorkflowFilter { name, after, limit, ..WorkflowFilter::default() };
            let rows = self.store.workflows(filter).await?;
            let Some(last) = rows.last() else { return export.end().map_err(failed) };
            after = Some(last.stream.clone());
            for row in &rows {
                if let Ok(stream) = Stream::new(row.stream.clone()) {
                    self.add(&mut export, &stream).await?;
                }
            }
        }
    }

    /// Whether the workflow has begun. One with a body that is not at hand is left out, if nothing
    /// of it is written yet.
    async fn add<W: Write + Send>(
        &mut self,
        export: &mut Export<'_, W>,
        stream: &Stream,
    ) -> Result<bool, Failure> {
        match export.workflow_from(self.store, stream, &mut self.bodies).await {
            Err(why @ HistoryError::Archived { .. }) if !export.is_cut() => {
                if self.left_out.insert(stream.to_string()) {
                    complain(&format!("{}: {why}; it was left out", why.code()), self.format);
                }
                Ok(true)
            }
            done => {
                let has_begun = done.map_err(failed)?;
                self.written += u64::from(has_begun);
                Ok(has_begun)
            }
        }
    }

    /// `holds`: what the program said of all that were written; `null` where none was asked.
    fn to_json(&self, judged: Option<Exit>) -> Value {
        json!({
            "holds": judged.map(|judged| judged == Exit::Done),
            "histories": self.written,
            "left_out": self.left_out,
        })
    }

    fn exit(&self) -> Exit {
        if self.left_out.is_empty() { Exit::Done } else { Exit::Refused }
    }
}

fn failed(error: HistoryError) -> Failure {
    Failure::could_not_run(error)
}
