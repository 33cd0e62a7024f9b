//! `workflow start`, `signal` and `cancel`: one input.
//!
//! Guarantees: the same input twice is one; a body is never read from a terminal. Does not: wait
//! for a runner.

use counterfoil_core::domain::Stream;
use counterfoil_core::domain::workflow::InputKind;
use counterfoil_core::port::Workflows as _;
use counterfoil_core::port::store::Recorded;
use counterfoil_core::port::workflow::NewInput;

use super::super::enqueue::read_given;
use super::hand::given;
use super::{Found, block_on};
use crate::args::{CancelWorkflow, GivenBody, Shared, SignalWorkflow, StartWorkflow};
use crate::exit::{Ended, Exit, Failure};
use crate::output;

/// Does `workflow start`.
///
/// # Errors
/// The store cannot be written, or refuses.
pub(super) fn start(shared: &Shared, args: StartWorkflow) -> Ended {
    let body = body_of(&args.body)?;
    send(shared, (args.stream, args.id), InputKind::Start, args.workflow, body)
}

/// Does `workflow signal`.
///
/// # Errors
/// As [`start`].
pub(super) fn signal(shared: &Shared, args: SignalWorkflow) -> Ended {
    let body = body_of(&args.body)?;
    send(shared, (args.stream, args.id), InputKind::Signal, args.name, body)
}

/// Does `workflow cancel`.
///
/// # Errors
/// As [`start`].
pub(super) fn cancel(shared: &Shared, args: CancelWorkflow) -> Ended {
    let body = Some(given(args.reason)?.into_bytes());
    send(shared, (args.stream, args.id), InputKind::Cancel, "cancel".into(), body)
}

fn body_of(given: &GivenBody) -> Result<Option<Vec<u8>>, Failure> {
    match given {
        GivenBody { body: None, body_file: None } => Ok(None),
        GivenBody { body, body_file } => {
            read_given(body.as_deref(), body_file.as_deref()).map(Some)
        }
    }
}

fn send(
    shared: &Shared,
    (stream, id): (String, String),
    kind: InputKind,
    name: String,
    body: Option<Vec<u8>>,
) -> Ended {
    let stream = Stream::new(stream).map_err(Failure::refused)?;
    let store = Found::new(shared)?.open()?;
    let input = NewInput { stream, id, kind, name, body };
    match block_on(async { Ok(store.send_inputs(vec![input]).await?) })?.pop() {
        Some(Ok(Recorded::Recorded)) => output::line("recorded")?,
        Some(Ok(Recorded::Repeated)) => output::line("repeated")?,
        Some(Err(refused)) => return Err(Failure::refused(refused)),
        None => return Err(Failure::could_not_run("the store gave no answer: try again")),
    }
    Ok(Exit::Done)
}
