//! `POST /v1/commands/{id}/retry|resolve|cancel|redeliver`: what an operator does to a command.
//!
//! Guarantees: an answer is given after the commit, with the state before and after; what a rule
//! refuses changes nothing; each deed is recorded with its actor. Does not: act by a filter: each
//! command is named.

use std::sync::Arc;

use axum::Extension;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use counterfoil_core::domain::transition::Verdict;
use counterfoil_core::port::{Act, Acted, Actor, Deed, Store};
use serde_json::json;

use crate::caller::Caller;
use crate::desk::Desk;
use crate::look::{malformed, no_such_command};
use crate::members::{refused, string, words};
use crate::problem::Problem;
use crate::{answer, body, members, refusal};

type Id = Result<Path<String>, PathRejection>;

/// What a body asks for, and why.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    act: Act,
    reason: String,
}

/// A parked command is tried again.
pub(crate) async fn retry<S: Store>(
    State(desk): State<Arc<Desk<S>>>,
    Extension(caller): Extension<Caller>,
    id: Id,
    request: Request,
) -> Result<Response, Problem> {
    act(&desk, caller, id, request, read_retry).await
}

/// A person says what became of a command.
pub(crate) async fn resolve<S: Store>(
    State(desk): State<Arc<Desk<S>>>,
    Extension(caller): Extension<Caller>,
    id: Id,
    request: Request,
) -> Result<Response, Problem> {
    act(&desk, caller, id, request, read_resolve).await
}

/// A command is withdrawn.
pub(crate) async fn cancel<S: Store>(
    State(desk): State<Arc<Desk<S>>>,
    Extension(caller): Extension<Caller>,
    id: Id,
    request: Request,
) -> Result<Response, Problem> {
    act(&desk, caller, id, request, read_cancel).await
}

/// An ended command is sent again.
pub(crate) async fn redeliver<S: Store>(
    State(desk): State<Arc<Desk<S>>>,
    Extension(caller): Extension<Caller>,
    id: Id,
    request: Request,
) -> Result<Response, Problem> {
    act(&desk, caller, id, request, read_redeliver).await
}

async fn act<S: Store>(
    desk: &Desk<S>,
    Caller(name): Caller,
    id: Id,
    request: Request,
    read: fn(&[u8]) -> Result<Asked, Problem>,
) -> Result<Response, Problem> {
    let Path(command_id) = id.map_err(|_| malformed())?;
    let Asked { act, reason } = {
        let taken = body::take(desk, request).await?;
        read(&taken.bytes)?
    };
    let verb = act.name();
    let actor = Actor { name: name.to_string(), reason };
    let deed = Deed { command_id: command_id.clone(), act, by_filter: false };
    let acted = desk.ask(desk.store.act(vec![deed], actor)).await?;
    match acted.into_iter().next() {
        Some(Acted::Done { before, after }) => {
            tracing::info!(
                verb,
                command = command_id,
                actor = &*name,
                before,
                after,
                "an operator acted"
            );
            Ok(answer::done(&json!({ "status": "done", "before": before, "after": after })))
        }
        Some(Acted::Refused(reason)) => Err(refusal::of(reason)),
        Some(Acted::Archived) => Err(refusal::archived()),
        Some(Acted::Unknown) | None => Err(no_such_command()),
    }
}

fn read_retry(body: &[u8]) -> Result<Asked, Problem> {
    let shape = "{\"reason\": …, \"may_act_twice\": …}, both optional";
    let [reason, twice] = members::read(body, ["reason", "may_act_twice"], shape)?;
    let (reason, may_act_twice) = (said(reason)?, flag(twice)?);
    if may_act_twice && reason.is_none() {
        return Err(refused("reason", "must be given with may_act_twice: say how you know"));
    }
    let act = Act::Retry { may_act_twice };
    Ok(Asked { act, reason: reason.unwrap_or_default() })
}

fn read_redeliver(body: &[u8]) -> Result<Asked, Problem> {
    let shape = "{\"reason\": …}, and perhaps \"may_act_twice\"";
    let [reason, twice] = members::read(body, ["reason", "may_act_twice"], shape)?;
    let act = Act::Redeliver { may_act_twice: flag(twice)? };
    Ok(Asked { act, reason: needed("reason", said(reason)?)? })
}

fn read_cancel(body: &[u8]) -> Result<Asked, Problem> {
    let [reason] = members::read(body, ["reason"], "{\"reason\": …}")?;
    Ok(Asked { act: Act::Cancel, reason: needed("reason", said(reason)?)? })
}

fn read_resolve(body: &[u8]) -> Result<Asked, Problem> {
    let shape = "{\"outcome\": …, \"evidence\": …}, and perhaps \"result\"";
    let [outcome, evidence, result] =
        members::read(body, ["outcome", "evidence", "result"], shape)?;
    let verdict = match outcome.and_then(string).as_deref() {
        Some("completed") => Verdict::Completed { result: members::result(result)? },
        Some("rejected") => Verdict::Rejected,
        Some("not_done") => Verdict::NotDone,
        _ => {
            let rule = "is \"completed\", \"rejected\" or \"not_done\": say only what is known";
            return Err(refused("outcome", rule));
        }
    };
    if result.is_some() && !matches!(verdict, Verdict::Completed { .. }) {
        return Err(refused("result", "goes with the outcome \"completed\" only"));
    }
    let rule = "is a string that says by what the outcome is known";
    let evidence = needed("evidence", words("evidence", evidence, rule)?)?;
    Ok(Asked { act: Act::Resolve(verdict), reason: evidence })
}

/// Why somebody acts.
pub(crate) fn said(text: Option<&str>) -> Result<Option<String>, Problem> {
    words("reason", text, "is a string that says why, for those who read it later")
}

/// What must not be left out.
pub(crate) fn needed(name: &'static str, words: Option<String>) -> Result<String, Problem> {
    let words = words.filter(|words| !words.trim().is_empty());
    words.ok_or_else(|| refused(name, "must be given, and not be blank: it stays on record"))
}

fn flag(text: Option<&str>) -> Result<bool, Problem> {
    match text {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(refused("may_act_twice", "is true or false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Read = fn(&[u8]) -> Result<Asked, Problem>;

    fn no(read: Read, body: &str) -> String {
        let problem = read(body.as_bytes()).unwrap_err();
        let (status, code, field) = problem.seen();
        assert_eq!((status, code), (422, "CF1011"), "{body}");
        field.unwrap_or_default().to_owned()
    }

    #[test]
    fn what_is_asked_is_read() {
        let asked = |act, reason: &str| Asked { act, reason: reason.to_owned() };
        let yes = |read: Read, body: &str| read(body.as_bytes()).unwrap();
        let retry = |may_act_twice| Act::Retry { may_act_twice };
        assert_eq!(yes(read_retry, "{}"), asked(retry(false), ""));
        assert_eq!(yes(read_retry, r#"{"may_act_twice":null}"#), asked(retry(false), ""));
        let twice = r#"{"may_act_twice":true,"reason":"rang them"}"#;
        assert_eq!(yes(read_retry, twice), asked(retry(true), "rang them"));
        let redeliver = Act::Redeliver { may_act_twice: true };
        assert_eq!(yes(read_redeliver, twice), asked(redeliver, "rang them"));
        assert_eq!(yes(read_cancel, r#"{"reason":"r"}"#), asked(Act::Cancel, "r"));
        let body = r#"{"outcome":"completed","evidence":"e","result":{"job" : 7}}"#;
        let verdict = Verdict::Completed { result: Some(br#"{"job" : 7}"#.to_vec()) };
        assert_eq!(yes(read_resolve, body), asked(Act::Resolve(verdict), "e"));
        for (name, verdict) in [("rejected", Verdict::Rejected), ("not_done", Verdict::NotDone)] {
            let body = format!(r#"{{"outcome":"{name}","evidence":"e","result":null}}"#);
            assert_eq!(yes(read_resolve, &body), asked(Act::Resolve(verdict), "e"));
        }
    }

    #[test]
    fn each_member_keeps_its_rule() {
        let cases: [(Read, &str, &str); 17] = [
            (read_retry, r#"{"may_act_twice":true}"#, "reason"),
            (read_retry, r#"{"may_act_twice":true,"reason":""}"#, "reason"),
            (read_retry, r#"{"may_act_twice":"true"}"#, "may_act_twice"),
            (read_retry, r#"{"may_act_twice":1}"#, "may_act_twice"),
            (read_retry, r#"{"reason":7}"#, "reason"),
            (read_retry, r#"{"reason":"a\u0000"}"#, "reason"),
            (read_retry, r#"{"actor":"ann"}"#, "actor"),
            (read_retry, r#"{"reason":"a","reason":"a"}"#, "reason"),
            (read_redeliver, "{}", "reason"),
            (read_cancel, "{}", "reason"),
            (read_cancel, r#"{"reason":"r","may_act_twice":true}"#, "may_act_twice"),
            (read_resolve, r#"{"evidence":"e"}"#, "outcome"),
            (read_resolve, r#"{"outcome":"accepted","evidence":"e"}"#, "outcome"),
            (read_resolve, r#"{"outcome":"completed"}"#, "evidence"),
            (read_resolve, r#"{"outcome":"rejected","evidence":""}"#, "evidence"),
            (read_resolve, r#"{"outcome":"not_done","evidence":"e","result":1}"#, "result"),
            (read_resolve, r#"{"outcome":"rejected","evidence":"e","result":1}"#, "result"),
        ];
        for (read, body, field) in cases {
            assert_eq!(no(read, body), field, "{body}");
        }
    }
}
