//! `workflow retry`, `drop` and `end`: what a person does to a workflow that cannot go on.
//!
//! Guarantees: recorded with the actor and the reason; what is refused says the way out. Does not:
//! undo what the workflow did.

use counterfoil_core::domain::Stream;
use counterfoil_core::domain::workflow::Status;
use counterfoil_core::port::workflow::{Dropped, EndedByHand};
use counterfoil_core::port::{Actor, Workflows as _};

use super::super::actor::actor;
use super::{Found, block_on, unknown};
use crate::args::{DropInput, EndWorkflow, RetryWorkflow, Shared};
use crate::exit::{Ended, Exit, Failure};
use crate::output::{self, table::cell};
use crate::store::OpenStore;

/// Does `workflow retry`.
///
/// # Errors
/// The store cannot be used, or there is nothing to retry.
pub(super) fn retry(shared: &Shared, args: RetryWorkflow) -> Ended {
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
        Err(not_aside((&found, &store), &stream, "retry").await?)
    })
}

/// Does `workflow drop`.
///
/// # Errors
/// The store cannot be used, or the input may not be taken away.
pub(super) fn drop_input(shared: &Shared, args: DropInput) -> Ended {
    let DropInput { stream, input, reason, actor: name } = args;
    let stream = Stream::new(stream).map_err(Failure::refused)?;
    let actor = Actor { name: actor(name)?, reason: given(reason)? };
    let found = Found::new(shared)?;
    let store = found.open()?;
    block_on(async {
        Err(match store.drop_input(&stream, &input, actor).await? {
            Dropped::Done => {
                let (input, stream) = (cell(&input), cell(stream.as_str()));
                output::line(&format!("input {input} of {stream} is gone"))?;
                return Ok(Exit::Done);
            }
            Dropped::Unknown => Failure::refused(format!("no input {input:?} of {stream} waits"))
                .help(format!("`counterfoil workflow show {stream}` names those that do")),
            refused => {
                let row = store.workflow(stream.as_str()).await?;
                cannot_go((&stream, &input), refused, row.and_then(|row| row.status))
            }
        })
    })
}

/// Why an input stays, and what can be done about it as its workflow stands.
fn cannot_go(
    (stream, input): (&Stream, &str),
    refused: Dropped,
    status: Option<Status>,
) -> Failure {
    let own = format!(
        "input {input:?} of {stream} is a receipt or a timer, for which its workflow would wait \
         for ever"
    );
    let cancel = format!("to end it: counterfoil workflow cancel {stream} --reason …");
    match status {
        Some(Status::Quarantined) => Failure::refused(own).help(format!(
            "mend the program, or end the workflow: counterfoil workflow end {stream} --reason …"
        )),
        Some(Status::Completed | Status::Failed) => {
            Failure::refused(format!("workflow {stream} has ended, so input {input:?} is harmless"))
                .help("the next runner takes it as ignored: nothing is to be done")
        }
        _ if refused == Dropped::Own => {
            Failure::refused(own).help(format!("a runner decides it; {cancel}"))
        }
        _ => Failure::refused(format!(
            "workflow {stream} is not quarantined: a runner decides its inputs"
        ))
        .help(format!("send another signal, or a cancel; {cancel}")),
    }
}

/// Does `workflow end`.
///
/// # Errors
/// The store cannot be used, or the workflow may not be ended.
pub(super) fn end(shared: &Shared, args: EndWorkflow) -> Ended {
    let EndWorkflow { stream, reason, actor: name } = args;
    let stream = Stream::new(stream).map_err(Failure::refused)?;
    let actor = Actor { name: actor(name)?, reason: given(reason)? };
    let found = Found::new(shared)?;
    let store = found.open()?;
    block_on(async {
        Err(match store.end_workflow(&stream, actor).await? {
            EndedByHand::Done => {
                let text = "has failed; nothing was undone, and what is on its way goes on";
                output::line(&format!("{} {text}", cell(stream.as_str())))?;
                return Ok(Exit::Done);
            }
            EndedByHand::NotAside => not_aside((&found, &store), &stream, "end").await?,
            EndedByHand::NeverBegan => {
                Failure::refused(format!("workflow {stream} never began: there is nothing to end"))
                    .help("`workflow drop` its start, then `workflow retry`")
            }
            EndedByHand::Torn => {
                Failure::refused(format!("the newest event of {stream} is not where its row says"))
                    .help("`counterfoil audit --full` tells what is wrong")
            }
        })
    })
}

/// A reason, which is never blank.
pub(super) fn given(reason: String) -> Result<String, Failure> {
    if !reason.trim().is_empty() {
        return Ok(reason);
    }
    Err(Failure::could_not_run("--reason: say why, for those who read it later"))
}

/// Why there is nothing to `verb`.
async fn not_aside(
    (found, store): (&Found, &OpenStore),
    stream: &Stream,
    verb: &str,
) -> Result<Failure, Failure> {
    let Some(row) = store.workflow(stream.as_str()).await? else {
        return Ok(unknown(found, stream.as_str()));
    };
    let status = match row.status {
        Some(status) => status.name(),
        None if row.is_waiting() => "waiting for its start",
        None => "not started",
    };
    let text =
        format!("workflow {stream} is {status}, not quarantined: there is nothing to {verb}");
    let drop = format!("counterfoil workflow drop {stream} --input ID --reason …");
    let way_out = match (verb, row.status) {
        ("end", Some(Status::Running)) => {
            "a workflow that goes on is asked to end: `counterfoil workflow cancel`".to_owned()
        }
        ("end", None) => format!("what waits can be taken away: {drop}"),
        _ => "`counterfoil workflow list --status quarantined`".to_owned(),
    };
    Ok(Failure::refused(text).help(way_out))
}
