//! `workflow show`: the story of one workflow, and the fate of each command it issued.
//!
//! Guarantees: bounded: the newest events up to 8 MiB, commands and inputs, with where it goes on;
//! a body that is archived and not at hand is told as that, with its file. Does not: fold the
//! state; that needs your program, see `state_at` of the library.

use counterfoil_console::{Part, told};
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
    let (limit, inputs_after) = (args.limit as usize, args.inputs_after.clone());
    let part = Part { at: args.at, limit, inputs_after };
    let told = block_on(async { Ok(told(&store, &stream, part).await?) })?;
    let mut told = told.ok_or_else(|| unknown(&found, &args.stream))?;
    let mut bodies = files(&found, &args.archive)?;
    told.fill(|events| bodies.fill(events)).map_err(failed)?;
    if args.json {
        output::line(&told.to_json().to_string())?;
    } else {
        output::line(tell::story(&told, args.at, now).trim_end())?;
    }
    Ok(Exit::Done)
}
