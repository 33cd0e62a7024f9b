//! `workflow show`: the story of one workflow, and the fate of each command it issued.
//!
//! Guarantees: bounded: the newest events, commands and inputs; a body that is archived and not at
//! hand is told as that, with its file. Does not: fold the state; that
//! needs your program, see `state_at` of the library.

use counterfoil_console::told;
use counterfoil_core::domain::Stream;
use counterfoil_core::port::Store as _;

use super::{Found, block_on, failed, files, tell, unknown};
use crate::args::{Shared, ShowWorkflow};
use crate::exit::{Ended, Exit, Failure};
use crate::output;

/// Does `workflow show`.
///
/// # Errors
/// There is no such workflow, or the store cannot be read.
pub(super) fn run(shared: &Shared, args: &ShowWorkflow) -> Ended {
    let stream = Stream::new(args.stream.clone()).map_err(Failure::refused)?;
    let found = Found::new(shared)?;
    let store = found.open()?;
    let now = store.now()?;
    let limit = args.limit as usize;
    let told = block_on(async { Ok(told(&store, &stream, args.at, limit).await?) })?;
    let mut told = told.ok_or_else(|| unknown(&found, &args.stream))?;
    files(&found, &args.archive)?.fill(&mut told.events).map_err(failed)?;
    if args.json {
        output::line(&told.to_json().to_string())?;
    } else {
        output::line(tell::story(&told, now).trim_end())?;
    }
    Ok(Exit::Done)
}
