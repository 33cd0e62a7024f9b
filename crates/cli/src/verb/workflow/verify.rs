//! `workflow verify`: hands stored histories to the user's program, or to a file.
//!
//! Guarantees: bounded memory; a program's exit code is this command's; a history with a body that
//! is archived and not at hand is left out, named, and makes exit 1. Does not: decide anything
//! itself, since the programs are the user's.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use counterfoil_archive::BodyReader;
use counterfoil_core::domain::Stream;
use counterfoil_core::port::Workflows as _;
use counterfoil_core::port::workflow::WorkflowFilter;
use counterfoil_workflow::verify::history::{Export, HistoryError};

use super::{Found, block_on, files, unknown};
use crate::args::{LogFormat, Shared, VerifyWorkflows};
use crate::exit::{Ended, Exit, Failure, complain};
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
    let found = Found::new(shared)?;
    let store = found.open()?;
    block_on(has_any(&found, &store, args))?;
    let mut histories = Histories {
        format: shared.log_format,
        found: &found,
        store: &store,
        bodies: files(&found, &args.archive)?,
        left_out: BTreeSet::new(),
    };
    if let Some(path) = &args.export {
        let mut file = open(path)?;
        block_on(histories.write(args, &mut file))?;
        file.flush()?;
    }
    let Some((program, words)) = args.program.split_first() else { return Ok(histories.exit()) };
    let started = Command::new(program).args(words).stdin(Stdio::piped()).spawn();
    let child = started
        .map_err(|why| Failure::could_not_run(format!("{program} cannot be started: {why}")))?;
    let judged = judged(child, program, |to| block_on(histories.write(args, to)))?;
    Ok(judged.and(histories.exit()))
}

/// Refuses where what was named has no history, before a file or a program is begun.
async fn has_any(found: &Found, store: &OpenStore, args: &VerifyWorkflows) -> Result<(), Failure> {
    if let Some(name) = &args.stream {
        let row = store.workflow(name).await?;
        return if row.is_some_and(|row| row.head > 0) {
            Ok(())
        } else {
            Err(unknown(found, name))
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
    Err(Failure::could_not_run(text).help("`counterfoil workflow list` names those that are there"))
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

/// Pipes the histories in, and waits for what the program says.
fn judged(
    mut child: Child,
    program: &str,
    write: impl FnOnce(&mut BufWriter<std::process::ChildStdin>) -> Result<(), Failure>,
) -> Ended {
    let written = match child.stdin.take() {
        Some(stdin) => {
            let mut to = BufWriter::new(stdin);
            write(&mut to).and_then(|()| Ok(to.flush()?))
        }
        None => Ok(()),
    };
    let status = child.wait().map_err(Failure::could_not_run)?;
    match status.code() {
        Some(0) => written.map(|()| Exit::Done),
        Some(1) => Ok(Exit::Refused),
        _ => {
            let text = format!("{program} ended with {status} before it had judged");
            Err(Failure::could_not_run(text)
                .help("it must read the histories to their end, and exit with 0 or 1"))
        }
    }
}

/// The histories of a store, on their way to a file or a program.
struct Histories<'a> {
    format: LogFormat,
    found: &'a Found,
    store: &'a OpenStore,
    bodies: BodyReader,
    /// The workflows whose bodies are archived and not at hand.
    left_out: BTreeSet<String>,
}

impl Histories<'_> {
    async fn write(
        &mut self,
        args: &VerifyWorkflows,
        to: &mut (impl Write + Send),
    ) -> Result<(), Failure> {
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
            done => done.map_err(failed),
        }
    }

    fn exit(&self) -> Exit {
        if self.left_out.is_empty() { Exit::Done } else { Exit::Refused }
    }
}

fn failed(error: HistoryError) -> Failure {
    Failure::could_not_run(error)
}
