//! `/v1/workflows/{stream}/retry`, `drop` and `end`: what people do to one that stands still.
//!
//! Guarantees: recorded with the caller and the reason; what is refused says the way out. Does not:
//! undo what the workflow did.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use counterfoil_core::domain::workflow::Status;
use counterfoil_core::port::workflow::{Dropped, EndedByHand};
use counterfoil_core::port::{Actor, Workflows};
use serde_json::json;

use crate::acting::{needed, said};
use crate::caller::Caller;
use crate::desk::Desk;
use crate::members::refused as member;
use crate::problem::Problem;
use crate::workflow::{Name, no_such_workflow, stream, text};
use crate::{answer, body, members};

/// Takes a quarantined workflow up again.
pub(crate) async fn retry<S: Workflows>(
    State(desk): State<Arc<Desk<S>>>,
    Extension(Caller(caller)): Extension<Caller>,
    name: Name,
    request: Request,
) -> Result<Response, Problem> {
    let stream = stream(name)?;
    let reason = {
        let taken = body::take(&desk, request).await?;
        let [reason] = members::read(&taken.bytes, ["reason"], "{}, and perhaps \"reason\"")?;
        said(reason)?.unwrap_or_default()
    };
    let actor = Actor { name: caller.to_string(), reason };
    if desk.ask(desk.store.retry_workflow(&stream, actor)).await? {
        tracing::info!(%stream, actor = %caller, "an operator took a workflow up again");
        return Ok(answer::done(&json!({ "status": "done" })));
    }
    let known = desk.ask(desk.store.workflow(stream.as_str())).await?;
    known.ok_or_else(no_such_workflow)?;
    Err(not_aside())
}

/// Takes an input away that no runner decides.
pub(crate) async fn drop_input<S: Workflows>(
    State(desk): State<Arc<Desk<S>>>,
    Extension(Caller(caller)): Extension<Caller>,
    name: Name,
    request: Request,
) -> Result<Response, Problem> {
    let stream = stream(name)?;
    let (input, reason) = {
        let taken = body::take(&desk, request).await?;
        let shape = "{\"input\": …, \"reason\": …}";
        let [input, reason] = members::read(&taken.bytes, ["input", "reason"], shape)?;
        let input = text("input", input)?.ok_or_else(|| member("input", "must be given"))?;
        (input, needed("reason", said(reason)?)?)
    };
    let actor = Actor { name: caller.to_string(), reason };
    let refused = match desk.ask(desk.store.drop_input(&stream, &input, actor)).await? {
        Dropped::Done => {
            tracing::info!(%stream, actor = %caller, "an operator took an input away");
            return Ok(answer::done(&json!({ "status": "done" })));
        }
        Dropped::Unknown => {
            let detail = "no input of this id waits: the workflow's story names those that do";
            Problem::new(StatusCode::NOT_FOUND, "CF1045", "no such input waits", detail)
        }
        refused => {
            let row = desk.ask(desk.store.workflow(stream.as_str())).await?;
            cannot_go(refused, row.and_then(|row| row.status))
        }
    };
    Err(refused.field("input"))
}

/// Ends a quarantined workflow as failed.
pub(crate) async fn end<S: Workflows>(
    State(desk): State<Arc<Desk<S>>>,
    Extension(Caller(caller)): Extension<Caller>,
    name: Name,
    request: Request,
) -> Result<Response, Problem> {
    let stream = stream(name)?;
    let reason = {
        let taken = body::take(&desk, request).await?;
        let [reason] = members::read(&taken.bytes, ["reason"], "{\"reason\": …}")?;
        needed("reason", said(reason)?)?
    };
    let actor = Actor { name: caller.to_string(), reason };
    match desk.ask(desk.store.end_workflow(&stream, actor)).await? {
        EndedByHand::Done => {
            tracing::info!(%stream, actor = %caller, "an operator ended a workflow");
            Ok(answer::done(&json!({ "status": "done" })))
        }
        EndedByHand::NotAside => {
            let known = desk.ask(desk.store.workflow(stream.as_str())).await?;
            known.ok_or_else(no_such_workflow)?;
            Err(not_aside())
        }
        EndedByHand::NeverBegan => {
            let detail = "it never began, so there is nothing to end: drop its start, then retry";
            Err(cannot_end(detail))
        }
        EndedByHand::Torn => {
            let detail = "its newest event is not where its row says: run an audit";
            Err(cannot_end(detail))
        }
    }
}

fn not_aside() -> Problem {
    let detail = "it is not quarantined, so there is nothing to mend: its story says how it is";
    Problem::new(StatusCode::CONFLICT, "CF1043", "the workflow is not quarantined", detail)
}

fn cannot_go(refused: Dropped, status: Option<Status>) -> Problem {
    let is_own = refused == Dropped::Own;
    let detail = match status {
        Some(Status::Quarantined) => {
            "it is a receipt or a timer, for which its workflow would wait for ever: mend the \
             program and retry, or end the workflow"
        }
        Some(Status::Completed | Status::Failed) => {
            "its workflow has ended: the next runner takes it as ignored, and nothing is to be done"
        }
        _ if is_own => {
            "it is a receipt or a timer, for which its workflow waits, and a runner decides it: to \
             end the workflow, send a cancel"
        }
        _ => {
            "its workflow is not quarantined, so a runner decides it: send another signal, or a \
             cancel"
        }
    };
    Problem::new(StatusCode::CONFLICT, "CF1046", "the input cannot be taken away", detail)
}

fn cannot_end(detail: &str) -> Problem {
    Problem::new(StatusCode::CONFLICT, "CF1047", "the workflow cannot be ended", detail)
}
