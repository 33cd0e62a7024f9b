//! What is there: counts, and one command's story.
//!
//! Guarantees: the same JSON as `counterfoil status --json` and `show --json`, and beside the
//! counts how the relay of this process does. Does not: change anything.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use counterfoil_core::port::Store;
use serde_json::{Value, json};

use crate::answer;
use crate::desk::Desk;
use crate::json;
use crate::options::ApiOptions;
use crate::problem::Problem;

/// Counts by destination and state.
pub(crate) async fn status<S: Store>(
    State(desk): State<Arc<Desk<S>>>,
) -> Result<Response, Problem> {
    let status = desk.ask(desk.store.status()).await?;
    let served = desk.options.served.as_deref();
    let unserved = served.map_or_else(Vec::new, |served| json::unserved(&status, served));
    let mut object = json::status(&status, &unserved);
    if let Some(members) = object.as_object_mut() {
        members.extend(relay(&desk.options));
    }
    Ok(answer::done(&object))
}

/// What the relay of this process tells of itself; `null` where there is none.
fn relay(options: &ApiOptions) -> [(String, Value); 2] {
    let rates = options.counters.as_ref().map(|counters| {
        let rates = counters.rates().into_iter().map(|(name, rates)| {
            let shown = json!({
                "attempts_per_second": rates.attempts,
                "completed_per_second": rates.completed,
            });
            (name, shown)
        });
        Value::Object(rates.collect())
    });
    let breakers = options.board.as_ref().map(|board| {
        let standings = board.standings().into_iter();
        Value::Object(standings.map(|one| (one.destination, one.breaker.into())).collect())
    });
    [("rates".into(), json!(rates)), ("breakers".into(), json!(breakers))]
}

/// The whole story of one command.
pub(crate) async fn command<S: Store>(
    State(desk): State<Arc<Desk<S>>>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Problem> {
    let Path(id) = id.map_err(|_| malformed())?;
    let story = desk.ask(desk.store.show(&id)).await?.ok_or_else(no_such_command)?;
    Ok(answer::done(&json::story(&story)))
}

pub(crate) fn no_such_command() -> Problem {
    let detail = "this store never heard of a command with this id: check the id, and that this \
                  is the store it was recorded in";
    Problem::new(StatusCode::NOT_FOUND, "CF1012", "no such command", detail)
}

pub(crate) fn malformed() -> Problem {
    let detail = "the path is /v1/commands/ and the command id, its UTF-8 percent-encoded";
    let title = "the id in the path is malformed";
    Problem::new(StatusCode::BAD_REQUEST, "CF1010", title, detail).field("command_id")
}
