//! `GET /v1/commands`: commands by filter, page by page, in the order in which they were recorded.
//!
//! Guarantees: a page ends at `limit` commands, or before, where their bodies have become long;
//! `next` goes on where it ended. Does not: list archived commands.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use counterfoil_core::domain::{Micros, ReceiptOutcome, State as CommandState};
use counterfoil_core::port::Store;
use counterfoil_core::port::read::{Filter, Listed};
use counterfoil_core::port::store::StoreError;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::desk::Desk;
use crate::look::no_such_command;
use crate::problem::Problem;
use crate::query::{Query, refused};
use crate::{answer, json, refusal};

/// The parameters, all optional.
pub(crate) const PARAMETERS: [&str; 9] =
    ["state", "destination", "kind", "stream", "reason", "since", "until", "limit", "after"];
/// How many a page has that names no limit.
const LIMIT: usize = 100;
/// The most that a page may have.
const LIMIT_MOST: usize = 1000;
/// A page ends after so many bytes, whatever its limit.
const PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// One page.
pub(crate) async fn list<S: Store>(
    State(desk): State<Arc<Desk<S>>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let filter = read(query.as_deref())?;
    if let Some(id) = &filter.after {
        match desk.ask(desk.store.show(id)).await? {
            Some(story) if !story.archived => {}
            Some(_) => return Err(refusal::archived().field("after")),
            None => return Err(no_such_command().field("after")),
        }
    }
    let (commands, next) = desk.ask(page(&desk.store, filter)).await?;
    Ok(answer::done(&json!({ "commands": commands, "next": next })))
}

async fn page<S: Store>(
    store: &S,
    filter: Filter,
) -> Result<(Vec<Value>, Option<String>), StoreError> {
    let limit = filter.limit;
    // One more says whether anything follows.
    let rows = store.list(Filter { limit: limit + 1, ..filter }).await?;
    let mut room = PAGE_BYTES_MAX;
    let mut commands = Vec::new();
    for row in rows.iter().take(limit) {
        let story = store.show(&row.command_id).await?;
        let object = story.as_ref().map_or_else(|| json::listed_alone(row), json::story);
        let len = object.to_string().len();
        commands.push(object);
        if len >= room {
            break;
        }
        room -= len;
    }
    if commands.len() == rows.len() {
        return Ok((commands, None));
    }
    // Nothing goes on after an id that is no UTF-8: the page ends before it.
    let ids: Vec<_> = rows[..commands.len()].iter().map(|row| row.command_id.clone()).collect();
    let known = store.known(&ids).await?;
    let Some(last) = known.iter().rposition(|known| *known) else {
        let why =
            "a whole page of ids that are no UTF-8: list them with a filter, or a larger limit";
        return Err(StoreError::Broken(why.into()));
    };
    commands.truncate(last + 1);
    Ok((commands, rows.get(last).map(|row: &Listed| row.command_id.clone())))
}

fn read(query: Option<&str>) -> Result<Filter, Problem> {
    let mut query = Query::read(query, &PARAMETERS)?;
    let state = query.take("state").map(known_state).transpose()?;
    let limit = query.take("limit").map_or(Ok(LIMIT), |text| {
        let number = text.parse().ok().filter(|limit| (1..=LIMIT_MOST).contains(limit));
        number.ok_or_else(|| refused("limit", "is a whole number, 1 to 1000"))
    })?;
    Ok(Filter {
        state,
        destination: query.take("destination"),
        kind: query.take("kind"),
        stream: query.take("stream"),
        reason: query.take("reason"),
        since: query.take("since").map(|text| time("since", &text)).transpose()?,
        until: query.take("until").map(|text| time("until", &text)).transpose()?,
        limit,
        after: query.take("after"),
    })
}

/// Every state and outcome, and what stands for several.
pub(crate) fn states() -> Vec<&'static str> {
    let states = CommandState::ALL.map(CommandState::name).into_iter();
    states.chain(ReceiptOutcome::ALL.map(ReceiptOutcome::name)).chain(["parked"]).collect()
}

fn known_state(name: String) -> Result<String, Problem> {
    let states = states();
    if states.contains(&name.as_str()) {
        return Ok(name);
    }
    Err(refused("state", &format!("is one of {}", states.join(", "))))
}

fn time(name: &'static str, text: &str) -> Result<Micros, Problem> {
    let read: Result<Timestamp, _> = text.parse();
    read.map(|time| Micros::new(time.as_microsecond())).map_err(|_| {
        refused(name, "is a time of RFC 3339, such as 2026-12-01T09:00:00Z; write a + as %2B")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_a_rule_is_named() {
        for (query, name) in [
            ("state=Dead", "state"),
            ("state=missing", "state"),
            ("limit=0", "limit"),
            ("limit=1001", "limit"),
            ("limit=-1", "limit"),
            ("limit=1.5", "limit"),
            ("since=2h", "since"),
            ("until=2026-12-01T09:00:00+01:00", "until"),
            ("order=desc", "order"),
        ] {
            let problem = read(Some(query)).unwrap_err();
            assert_eq!(problem.seen(), (400, "CF1026", Some(name)), "{query}");
        }
    }

    #[test]
    fn every_filter_arrives() {
        let query = "state=parked&destination=d&kind=k&stream=s&reason=r&limit=7&after=a\
                     &since=2025-11-29T13:00:00.000001Z&until=2025-11-29T14:00:00%2B01:00";
        let at = |micros| Some(Micros::new(micros));
        let text = |text: &str| Some(text.to_owned());
        let expected = Filter {
            state: text("parked"),
            destination: text("d"),
            kind: text("k"),
            stream: text("s"),
            reason: text("r"),
            since: at(1_764_421_200_000_001),
            until: at(1_764_421_200_000_000),
            limit: 7,
            after: text("a"),
        };
        assert_eq!(read(Some(query)).unwrap(), expected);
        assert_eq!(read(None).unwrap().limit, 100);
    }
}
