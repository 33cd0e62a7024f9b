//! `workflow recall`: brings the archived bodies of one workflow's events back into the store.
//!
//! Guarantees: all are found and proved before the first comes back; who asked is recorded. Does
//! not: change the files, whose lines are copies then, nor take the workflow up again.

use counterfoil_archive::recall;
use counterfoil_core::domain::Stream;
use counterfoil_core::port::{Actor, Workflows as _};

use super::{Found, block_on, failed, files, unknown};
use crate::args::{RecallWorkflow, Shared};
use crate::exit::{Ended, Exit, Failure};
use crate::output::{self, table::cell};
use crate::verb::actor::actor;

/// Whether they stay.
const AGAIN: &str = "a run of `archive` takes them again, but for a quarantined workflow";

/// Does `workflow recall`.
///
/// # Errors
/// There is no such workflow, a file is in none of the folders, or the store cannot be written.
pub(super) fn run(shared: &Shared, args: RecallWorkflow) -> Ended {
    let stream = Stream::new(args.stream).map_err(Failure::refused)?;
    let actor = Actor { name: actor(args.actor)?, reason: args.reason.unwrap_or_default() };
    let found = Found::new(shared)?;
    let mut reader = files(&found, &args.archive)?;
    let store = found.open()?;
    block_on(async {
        if store.workflow(stream.as_str()).await?.is_none() {
            return Err(unknown(&found, stream.as_str()));
        }
        let came = recall(&store, &mut reader, &stream, &actor).await.map_err(failed)?;
        let name = cell(stream.as_str());
        output::line(&match came {
            0 => format!("{name}: none of its bodies is archived"),
            1 => format!("{name}: 1 body came back; {AGAIN}"),
            came => format!("{name}: {came} bodies came back; {AGAIN}"),
        })?;
        Ok(Exit::Done)
    })
}
