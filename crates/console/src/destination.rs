//! `POST /v1/destinations/{name}/pause|resume`: whether relays claim for a destination.
//!
//! Guarantees: all relays obey; who paused, when and why stands in the store; the same again is
//! `repeated`. Does not: stop what is in flight; a pause stops claims.

use std::sync::Arc;

use axum::Extension;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use counterfoil_core::domain::Destination;
use counterfoil_core::port::Store;
use serde_json::json;

use crate::acting::{needed, said};
use crate::caller::Caller;
use crate::desk::Desk;
use crate::problem::Problem;
use crate::{answer, body, members};

type Name = Result<Path<String>, PathRejection>;

/// Pauses a destination.
pub(crate) async fn pause<S: Store>(
    State(desk): State<Arc<Desk<S>>>,
    Extension(Caller(caller)): Extension<Caller>,
    name: Name,
    request: Request,
) -> Result<Response, Problem> {
    let destination = named(name)?;
    let reason = {
        let taken = body::take(&desk, request).await?;
        let [reason] = members::read(&taken.bytes, ["reason"], "{\"reason\": …}")?;
        needed("reason", said(reason)?)?
    };
    must_be_known(&desk, &destination).await?;
    let paused = desk.ask(desk.store.pause(&destination, &caller, &reason)).await?;
    if paused {
        tracing::warn!(%destination, actor = %caller, reason, "an operator paused a destination");
    }
    Ok(answer::done(&json!({ "status": if paused { "paused" } else { "repeated" } })))
}

/// Lets a destination go on.
pub(crate) async fn resume<S: Store>(
    State(desk): State<Arc<Desk<S>>>,
    Extension(Caller(caller)): Extension<Caller>,
    name: Name,
    request: Request,
) -> Result<Response, Problem> {
    let destination = named(name)?;
    let reason = {
        let taken = body::take(&desk, request).await?;
        let [reason] = members::read(&taken.bytes, ["reason"], "{}, and perhaps \"reason\"")?;
        said(reason)?.unwrap_or_default()
    };
    let resumed = desk.ask(desk.store.resume(&destination, &caller, &reason)).await?;
    if resumed {
        tracing::warn!(%destination, actor = %caller, reason, "an operator resumed a destination");
    } else {
        must_be_known(&desk, &destination).await?;
    }
    Ok(answer::done(&json!({ "status": if resumed { "resumed" } else { "repeated" } })))
}

fn named(name: Name) -> Result<Destination, Problem> {
    let Path(name) = name.map_err(|_| no_such_destination())?;
    Destination::new(name).map_err(|_| no_such_destination())
}

/// A mistyped name would be paused for nothing.
async fn must_be_known<S: Store>(desk: &Desk<S>, name: &Destination) -> Result<(), Problem> {
    let name = name.as_str();
    let served = desk.options.served.iter().flatten();
    if served.into_iter().any(|served| served == name)
        || desk.ask(desk.store.contracts()).await?.contains_key(name)
    {
        return Ok(());
    }
    let status = desk.ask(desk.store.status()).await?;
    if status.destinations.contains_key(name) || status.paused.contains_key(name) {
        return Ok(());
    }
    Err(no_such_destination())
}

fn no_such_destination() -> Problem {
    let detail = "no relay serves a destination of this name, and no command of this store is for \
                  it: see the names in /v1/status";
    Problem::new(StatusCode::NOT_FOUND, "CF1027", "no such destination", detail)
}
