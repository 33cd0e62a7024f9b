//! `workflow start|list|show|signal|cancel|retry|recall|verify`: what people do with workflows.
//!
//! Guarantees: an input is written by the rules of the guard, and says `recorded` or `repeated`.
//! Does not: run a program; a runner in your own process does.

mod list;
mod recall;
mod send;
mod show;
mod tell;
mod verify;

use std::path::PathBuf;

use counterfoil_archive::{BodyReader, Folder};
use counterfoil_core::domain::Stream;
use counterfoil_core::port::{Actor, Workflows as _};

use super::actor::actor;
use super::archive::failed;
use super::{Found, block_on};
use crate::args::{RetryWorkflow, Shared, Workflow, WorkflowVerb};
use crate::exit::{Ended, Exit, Failure, verdict};
use crate::output::{self, table::cell};

/// Does `workflow`.
///
/// # Errors
/// A flag is wrong, the store cannot be used, or it refuses.
pub(crate) fn run(shared: &Shared, args: Workflow) -> Ended {
    match args.verb {
        WorkflowVerb::Start(args) => send::start(shared, args),
        WorkflowVerb::Signal(args) => send::signal(shared, args),
        WorkflowVerb::Cancel(args) => send::cancel(shared, args),
        WorkflowVerb::List(args) => list::run(shared, args),
        WorkflowVerb::Show(args) => show::run(shared, &args),
        WorkflowVerb::Retry(args) => retry(shared, args),
        WorkflowVerb::Recall(args) => recall::run(shared, args),
        WorkflowVerb::Verify(args) => verdict(verify::run(shared, &args)),
    }
}

fn retry(shared: &Shared, args: RetryWorkflow) -> Ended {
    let stream = Stream::new(args.stream).map_err(Failure::refused)?;
    let actor = Actor { name: actor(args.actor)?, reason: args.reason.unwrap_or_default() };
    let found = Found::new(shared)?;
    let store = found.open()?;
    block_on(async {
        if store.retry_workflow(&stream, actor).await? {
            output::line(&format!(
                "{} is taken up again by the next runner",
                cell(stream.as_str())
            ))?;
            return Ok(Exit::Done);
        }
        let text = match store.workflow(stream.as_str()).await? {
            None => return Err(unknown(&found, stream.as_str())),
            Some(row) => {
                let status = row.status.map_or("waiting for its start", |status| status.name());
                format!("workflow {stream} is {status}, not quarantined: there is nothing to retry")
            }
        };
        Err(Failure::refused(text).help("`counterfoil workflow list --status quarantined`"))
    })
}

/// The files of the archive, in the folders that are given, else in `[archive] dir`.
fn files(found: &Found, given: &[PathBuf]) -> Result<BodyReader, Failure> {
    let mut dirs = given.to_vec();
    if dirs.is_empty() {
        dirs.extend(found.archive(None)?);
    }
    let folders = dirs.iter().map(|dir| Folder::new(dir).map_err(failed));
    Ok(BodyReader::new(folders.collect::<Result<_, _>>()?))
}

/// Nothing stands under this stream.
fn unknown(found: &Found, stream: &str) -> Failure {
    Failure::refused(format!("{}: no workflow {stream:?} was ever started or signalled", found.url))
        .help("`counterfoil workflow list` names those that are there")
}
