//! `workflow` and its verbs: what people do with workflows.
//!
//! Guarantees: an input is written by the rules of the guard, and says `recorded` or `repeated`.
//! Does not: run a program; a runner in your own process does.

mod hand;
mod judge;
mod list;
mod recall;
mod send;
mod show;
mod tell;
mod verify;

use std::path::PathBuf;

use counterfoil_archive::{BodyReader, Folder};

use super::archive::failed;
use super::{Found, block_on};
use crate::args::{Shared, Workflow, WorkflowVerb};
use crate::exit::{Ended, Failure, verdict};

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
        WorkflowVerb::Retry(args) => hand::retry(shared, args),
        WorkflowVerb::Drop(args) => hand::drop_input(shared, args),
        WorkflowVerb::End(args) => hand::end(shared, args),
        WorkflowVerb::Recall(args) => recall::run(shared, args),
        WorkflowVerb::Verify(args) => verdict(verify::run(shared, &args)),
    }
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
