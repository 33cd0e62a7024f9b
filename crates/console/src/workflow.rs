//! `/v1/workflows`: what workflows there are, the story of one, and what people tell them.
//!
//! Guarantees: an input by HTTP keeps the rules of the guard of its table; the same again is
//! `repeated`. Does not: run a program, nor fold a state.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use counterfoil_core::domain::Stream;
use counterfoil_core::domain::workflow::{InputKind, Status};
use counterfoil_core::port::Workflows;
use counterfoil_core::port::store::Recorded;
use counterfoil_core::port::workflow::{InputRefused, NewInput, WorkflowFilter};
use serde_json::json;

use crate::acting::{needed, said};
use crate::desk::Desk;
use crate::members::{refused as member, string};
use crate::problem::Problem;
use crate::query::{Query, refused};
use crate::told::{Part, told};
use crate::{answer, body, json, members};

/// The parameters of the list, all optional.
pub(crate) const PARAMETERS: [&str; 4] = ["workflow", "status", "limit", "after"];
/// The parameters of the list of orphans, all optional.
pub(crate) const OF_ORPHANS: [&str; 3] = ["limit", "after", "after_id"];
/// The parameters of a story, all optional.
const OF_A_STORY: [&str; 3] = ["at", "limit", "inputs_after"];
/// Of a workflow whose start no runner has decided.
const WAITING: &str = "waiting";
/// How many a page has that names no limit; also of events.
const LIMIT: usize = 100;
/// The most that a page may have.
const LIMIT_MOST: usize = 1000;

pub(crate) type Name = Result<Path<String>, PathRejection>;

/// One page of workflows.
pub(crate) async fn list<S: Workflows>(
    State(desk): State<Arc<Desk<S>>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let mut query = Query::read(query.as_deref(), &PARAMETERS)?;
    let status = query.take("status");
    let is_waiting = status.as_deref() == Some(WAITING);
    let status = status.filter(|_| !is_waiting).map(|name| {
        let names = Status::ALL.map(Status::name).join(", ");
        let rule = format!("is one of {WAITING}, {names}");
        Status::from_name(&name).ok_or_else(|| refused("status", &rule))
    });
    let limit = limit(&mut query)?;
    let filter = WorkflowFilter {
        name: query.take("workflow"),
        status: status.transpose()?,
        is_waiting,
        after: query.take("after"),
        // One more says whether anything follows.
        limit: limit + 1,
    };
    let mut rows = desk.ask(desk.store.workflows(filter)).await?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(|row| row.stream.clone());
    let workflows: Vec<_> = rows.iter().map(json::workflow).collect();
    Ok(answer::done(&json!({ "workflows": workflows, "next": next })))
}

/// One page of signals and cancels whose workflow was never started.
pub(crate) async fn orphans<S: Workflows>(
    State(desk): State<Arc<Desk<S>>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let mut query = Query::read(query.as_deref(), &OF_ORPHANS)?;
    let limit = limit(&mut query)?;
    let after = match (query.take("after"), query.take("after_id")) {
        (None, None) => None,
        (None, Some(_)) => {
            return Err(refused("after_id", "is an input of the stream in after: give both"));
        }
        // Behind every id: no id begins with the last character there is.
        (Some(stream), id) => Some((stream, id.unwrap_or_else(|| char::MAX.to_string()))),
    };
    let mut rows = desk.ask(desk.store.waiting_inputs(None, after, limit + 1)).await?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more);
    let next = next.map(|row| json!({ "after": row.stream, "after_id": row.id }));
    let inputs: Vec<_> = rows.iter().map(json::waiting_input).collect();
    Ok(answer::done(&json!({ "inputs": inputs, "next": next })))
}

fn limit(query: &mut Query) -> Result<usize, Problem> {
    query.take("limit").map_or(Ok(LIMIT), |text| {
        let number = text.parse().ok().filter(|limit| (1..=LIMIT_MOST).contains(limit));
        number.ok_or_else(|| refused("limit", "is a whole number, 1 to 1000"))
    })
}

/// The story of one workflow.
pub(crate) async fn show<S: Workflows>(
    State(desk): State<Arc<Desk<S>>>,
    name: Name,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let stream = stream(name)?;
    let mut query = Query::read(query.as_deref(), &OF_A_STORY)?;
    let at = query.take("at").map(|text| {
        let seq = text.parse().ok().filter(|seq: &i64| *seq > 0);
        seq.ok_or_else(|| refused("at", "is a seq, a whole number from 1"))
    });
    let (at, limit) = (at.transpose()?, limit(&mut query)?);
    let part = Part { at, limit, inputs_after: query.take("inputs_after") };
    let told = desk.ask(told(&desk.store, &stream, part)).await?;
    Ok(answer::done(&told.ok_or_else(no_such_workflow)?.to_json()))
}

/// Starts a workflow.
pub(crate) async fn start<S: Workflows>(
    State(desk): State<Arc<Desk<S>>>,
    name: Name,
    request: Request,
) -> Result<Response, Problem> {
    let stream = addressed(name)?;
    let input = {
        let taken = body::take(&desk, request).await?;
        let shape = "{\"workflow\": …}, and perhaps \"id\" and \"body\"";
        let [name, id, body] = members::read(&taken.bytes, ["workflow", "id", "body"], shape)?;
        let name = text("workflow", name)?.ok_or_else(|| member("workflow", "must be given"))?;
        let id = text("id", id)?.unwrap_or_else(|| "start".into());
        NewInput { stream, id, kind: InputKind::Start, name, body: given(body) }
    };
    send(&desk, input).await
}

/// Sends a signal.
pub(crate) async fn signal<S: Workflows>(
    State(desk): State<Arc<Desk<S>>>,
    name: Name,
    request: Request,
) -> Result<Response, Problem> {
    let stream = addressed(name)?;
    let input = {
        let taken = body::take(&desk, request).await?;
        let shape = "{\"name\": …, \"id\": …}, and perhaps \"body\"";
        let [name, id, body] = members::read(&taken.bytes, ["name", "id", "body"], shape)?;
        let name = text("name", name)?.ok_or_else(|| member("name", "must be given"))?;
        let rule = "must be given: the same id twice is the same signal";
        let id = text("id", id)?.ok_or_else(|| member("id", rule))?;
        NewInput { stream, id, kind: InputKind::Signal, name, body: given(body) }
    };
    send(&desk, input).await
}

/// Asks a workflow to end.
pub(crate) async fn cancel<S: Workflows>(
    State(desk): State<Arc<Desk<S>>>,
    name: Name,
    request: Request,
) -> Result<Response, Problem> {
    let stream = addressed(name)?;
    let input = {
        let taken = body::take(&desk, request).await?;
        let shape = "{\"reason\": …}, and perhaps \"id\"";
        let [reason, id] = members::read(&taken.bytes, ["reason", "id"], shape)?;
        let body = Some(needed("reason", said(reason)?)?.into_bytes());
        let id = text("id", id)?.unwrap_or_else(|| "cancel".into());
        NewInput { stream, id, kind: InputKind::Cancel, name: "cancel".into(), body }
    };
    send(&desk, input).await
}

async fn send<S: Workflows>(desk: &Desk<S>, input: NewInput) -> Result<Response, Problem> {
    let is_start = input.kind == InputKind::Start;
    let sent = desk.ask(desk.store.send_inputs(vec![input])).await?;
    match sent.into_iter().next() {
        Some(Ok(recorded)) => {
            let status = match recorded {
                Recorded::Recorded => "recorded",
                Recorded::Repeated => "repeated",
            };
            Ok(answer::done(&json!({ "status": status })))
        }
        Some(Err(InputRefused::Value { what, why, .. })) => {
            // The name of a start is its program's.
            let field = if what == "name" && is_start { "workflow" } else { what };
            Err(member(field, &format!("breaks a rule: {why}")))
        }
        Some(Err(_)) | None => {
            let detail = "an input of this id stands in this workflow with other content, waiting \
                          or decided: another start or signal needs another id";
            let title = "the id stands with other content";
            Err(Problem::new(StatusCode::CONFLICT, "CF1044", title, detail).field("id"))
        }
    }
}

pub(crate) fn text(name: &'static str, text: Option<&str>) -> Result<Option<String>, Problem> {
    text.map(|text| string(text).ok_or_else(|| member(name, "is a string"))).transpose()
}

/// Any JSON, as it was sent.
fn given(body: Option<&str>) -> Option<Vec<u8>> {
    body.map(|body| body.as_bytes().to_vec())
}

/// The stream of an input, which may be the first of it.
fn addressed(name: Name) -> Result<Stream, Problem> {
    let Path(name) = name.map_err(|_| no_such_workflow())?;
    let rule = "has 1 to 200 bytes of UTF-8 without control characters";
    Stream::new(name).map_err(|_| member("stream", rule))
}

pub(crate) fn stream(name: Name) -> Result<Stream, Problem> {
    let Path(name) = name.map_err(|_| no_such_workflow())?;
    Stream::new(name).map_err(|_| no_such_workflow())
}

pub(crate) fn no_such_workflow() -> Problem {
    let detail = "nothing was ever started or signalled under this stream, which has 1 to 200 \
                  bytes of UTF-8 without control characters, percent-encoded: see /v1/workflows";
    Problem::new(StatusCode::NOT_FOUND, "CF1042", "no such workflow", detail)
}
