//! `POST /v1/receipts`: a receiver, or a person, says what became of a command.
//!
//! Guarantees: an answer is given after the commit; the first report ends the command, the same
//! again is `repeated`, another outcome is 409 and kept; so whoever heard nothing may send the
//! same again. Does not: end a command that was never recorded.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use counterfoil_core::domain::{Reason, Token};
use counterfoil_core::port::Store;
use counterfoil_core::port::read::Story;
use counterfoil_core::port::store::Reported;
use serde_json::json;

use crate::caller::Caller;
use crate::desk::Desk;
use crate::look::no_such_command;
use crate::problem::Problem;
use crate::{answer, body, report};

/// Takes a report.
pub(crate) async fn take<S: Store>(
    State(desk): State<Arc<Desk<S>>>,
    Extension(Caller(source)): Extension<Caller>,
    request: Request,
) -> Result<Response, Problem> {
    let (command_id, report) = {
        let taken = body::take(&desk, request).await?;
        report::read(&taken.bytes, &source)?
    };
    let fence = report.token.map(|token| (token, report.outcome.name()));
    let reported = desk.ask(desk.store.report(&command_id, report)).await?;
    match (reported, fence) {
        (Reported::Recorded, _) => Ok(answer::done(&json!({ "status": "recorded" }))),
        (Reported::Repeated, _) => Ok(answer::done(&json!({ "status": "repeated" }))),
        (Reported::Contradiction, _) => {
            let source = &*source;
            tracing::warn!(command = %command_id, source, "a report contradicts the receipt");
            Err(contradiction())
        }
        (Reported::Refused(Reason::StaleToken), _) => Err(stale_token()),
        (Reported::Refused(Reason::Ended), Some((token, outcome))) => {
            let story = desk.ask(desk.store.show(command_id.as_str())).await?;
            if story.is_some_and(|story| ended_by(&story, token, outcome)) {
                return Ok(answer::done(&json!({ "status": "repeated" })));
            }
            Err(ended())
        }
        (Reported::Refused(_), _) => {
            let text = "a command is neither open nor ended: run an audit";
            tracing::error!(command = %command_id, "{text}");
            Err(amiss())
        }
        (Reported::Unknown, _) => Err(no_such_command()),
    }
}

/// Whether the command's last round ended so under this very token: then the fence held, and who
/// sends the report again only missed the answer.
fn ended_by(story: &Story, token: Token, outcome: &str) -> bool {
    let last = story.receipts.last().filter(|_| story.state().is_none());
    last.is_some_and(|last| last.token == token.get() && last.outcome == outcome)
}

fn contradiction() -> Problem {
    let detail = "the command has ended with another outcome, which stands; this report is kept \
                  beside it as a contradiction, which the audit shows: a person looks at it";
    Problem::new(StatusCode::CONFLICT, "CF1013", "another outcome stands", detail)
}

fn stale_token() -> Problem {
    let detail = "another attempt owns the command now, or none ever did; nothing was written: \
                  only the newest Counterfoil-Token of an open command counts, or none";
    Problem::new(StatusCode::CONFLICT, "CF1014", "the token is not the newest", detail)
}

fn ended() -> Problem {
    let detail = "the command has ended under another token or with another outcome, and a report \
                  with a token counts for an open command only; nothing was written: without \
                  the token it is compared with what stands";
    Problem::new(StatusCode::CONFLICT, "CF1015", "the command has ended", detail)
}

fn amiss() -> Problem {
    let detail = "its rows are not as they should be; nothing was written: run counterfoil audit";
    let title = "the command is neither open nor ended as it should be";
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "CF1025", title, detail)
}
