//! The JSON shapes of what is read, by HTTP and by the verbs of the command line.
//!
//! Guarantees: names and shapes are a public contract: ids are strings, times RFC 3339, bytes
//! that are no UTF-8 stand as `{"hex": "…"}`. Does not: read a store.

use counterfoil_core::audit::{AuditReport, Pass, SealFate, WhyFull};
use counterfoil_core::domain::{Micros, Span, State};
use counterfoil_core::port::read::{LanePlace, Listed, ReceiptStory, Status, Story, Told};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

mod workflow;

pub(crate) use workflow::event_bytes;
pub use workflow::{Fate, waiting_input, workflow, workflow_story};

/// One command: the object of `show`, and of each line of `list`.
#[must_use]
pub fn story(story: &Story) -> Value {
    let mut object = listed(&story.listed);
    let receipts: Vec<_> = story.receipts.iter().map(receipt).collect();
    object.insert("receipt".into(), receipts.last().cloned().unwrap_or(Value::Null));
    object.insert("receipts".into(), receipts.into());
    object.insert("tries".into(), story.tries.iter().map(told).collect());
    object.insert("actions".into(), story.actions.iter().map(told).collect());
    let headers = story.headers.as_deref().map(serde_json::from_str::<Value>);
    object.insert("content_type".into(), story.content_type.clone().into());
    object.insert("headers".into(), headers.and_then(Result::ok).unwrap_or_else(|| json!({})));
    object.insert("body".into(), bytes(story.body.as_deref()));
    object.insert("not_before".into(), at(story.not_before));
    object.insert("expires_at".into(), at(story.expires_at));
    let sends = story.sends();
    object.insert("first_sent_at".into(), at(sends.map(|(first, _)| first)));
    object.insert("last_sent_at".into(), at(sends.map(|(_, last)| last)));
    object.insert("contradicted".into(), story.contradicted.into());
    let open = story.delivery.as_ref();
    object.insert("asks".into(), json!(open.map(|open| open.asks)));
    let lease = story.lease.as_ref();
    object.insert("lease_until".into(), at(lease.map(|(until, _)| *until)));
    object.insert("lease_owner".into(), json!(lease.map(|(_, owner)| owner)));
    let decision = story.decision.as_ref();
    object.insert("stream".into(), json!(decision.map(|(stream, _, _)| stream)));
    object.insert("seq".into(), json!(decision.map(|(_, seq, _)| seq)));
    object.insert("idx".into(), json!(decision.map(|(_, _, idx)| idx)));
    object.insert("lane".into(), story.lane.as_ref().map_or(Value::Null, lane));
    object.insert("archived".into(), story.archived.into());
    Value::Object(object)
}

/// A command whose story cannot be read by its id, because the id is no UTF-8.
#[must_use]
pub fn listed_alone(row: &Listed) -> Value {
    let mut object = listed(row);
    object.insert("receipt".into(), Value::Null);
    for key in ["receipts", "tries", "actions"] {
        object.insert(key.into(), json!([]));
    }
    Value::Object(object)
}

/// `status`; `unserved` counts open commands, see [`unserved`].
#[must_use]
pub fn status(status: &Status, unserved: &[(String, u64)]) -> Value {
    let unserved: Map<_, _> =
        unserved.iter().map(|(name, n)| (name.clone(), (*n).into())).collect();
    let oldest_due = status.oldest_due.iter().map(|(name, span)| (name.clone(), seconds(*span)));
    let expiring = status.expiring.iter().map(|(name, expiring)| {
        (name.clone(), json!({ "count": expiring.count, "first": time(expiring.first) }))
    });
    let paused = status.paused.iter().map(|(name, why)| {
        let (since, by) = status.paused_by.get(name).cloned().unwrap_or_default();
        (name.clone(), json!({ "since": time(since), "by": by, "why": why }))
    });
    let blocked = status.blocked.iter().map(|lane| {
        let head = lane.parked_head.as_ref();
        json!({
            "destination": lane.destination,
            "ordering_key": lane.ordering_key,
            "waiting": lane.waiting,
            "head": head.map(|(id, _)| id),
            "head_state": head.map(|(_, state)| state.name()),
        })
    });
    json!({
        "destinations": status.destinations,
        "unserved": unserved,
        "oldest_due_seconds": Value::Object(oldest_due.collect()),
        "expiring": Value::Object(expiring.collect()),
        "paused": Value::Object(paused.collect()),
        "blocked": blocked.collect::<Vec<_>>(),
        "workflows": {
            "quarantined": status.workflows.quarantined,
            "waiting": status.workflows.starts,
            "oldest_waiting_seconds": status.workflows.oldest_start.map(seconds),
            "orphans": status.workflows.orphans,
        },
    })
}

/// `audit`; `checked` counts commands.
#[must_use]
pub fn audit(report: &AuditReport) -> Value {
    let violations = report.violations.iter().map(
        |violation| json!({ "code": violation.code, "ids": violation.ids, "text": violation.text }),
    );
    let mut told = json!({
        "holds": report.holds,
        "checked": report.checked.commands,
        "acknowledged": report.checked.acknowledged,
        "violations": violations.collect::<Vec<_>>(),
    });
    if let (Some(pass), Some(object)) = (&report.pass, told.as_object_mut()) {
        object.insert("mended".into(), report.mended.clone().into());
        object.extend(passed(pass));
    }
    told
}

/// From where an audit looked, and what became of the seal.
fn passed(pass: &Pass) -> Map<String, Value> {
    let form = if pass.full.is_some() { "full" } else { "incremental" };
    let why = pass.full.as_ref().map(|why| match why {
        WhyFull::First => "first",
        WhyFull::Broken => "broken",
        WhyFull::Unreadable(_) => "unreadable",
        _ => "asked",
    });
    let seal = match &pass.seal {
        SealFate::Renewed(_) => "renewed",
        SealFate::Open => "open_transaction",
        SealFate::Moved => "moved",
        SealFate::NotWritten(_) => "not_written",
        _ => "stays",
    };
    let from = pass.from;
    let told = json!({
        "form": form,
        "full_because": why,
        "from": from.map(|from| from.n.to_string()),
        "sealed_at": at(from.map(|from| from.sealed_at)),
        "full_at": at(from.and_then(|from| from.full_at)),
        "seal": seal,
    });
    match told {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// Destinations that are not among `served`, and how many commands wait there for a relay. What
/// waits for a person waits for no relay.
#[must_use]
pub fn unserved(status: &Status, served: &[String]) -> Vec<(String, u64)> {
    let destinations = status.destinations.iter().filter(|(name, _)| !served.contains(name));
    let counts = destinations.map(|(name, states)| {
        let waits = |name: &str| State::from_name(name).is_some_and(|state| !state.is_parked());
        let waiting = states.iter().filter(|(state, _)| waits(state));
        (name.clone(), waiting.map(|(_, count)| count).sum())
    });
    counts.filter(|(_, waiting)| *waiting > 0).collect()
}

/// A time as JSON has it: RFC 3339, UTC, to the microsecond.
#[must_use]
pub fn time(time: Micros) -> String {
    Timestamp::from_microsecond(time.get())
        .map_or_else(|_| format!("{} µs", time.get()), |timestamp| timestamp.to_string())
}

fn seconds(span: Span) -> Value {
    span.to_std().as_secs_f64().into()
}

fn listed(row: &Listed) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("command_id".into(), row.command_id.clone().into());
    object.insert("destination".into(), row.destination.clone().into());
    object.insert("kind".into(), row.kind.clone().into());
    object.insert("state".into(), row.state.clone().into());
    object.insert("round".into(), row.round.into());
    object.insert("attempts".into(), row.attempts.into());
    object.insert("in_doubt".into(), row.in_doubt.into());
    object.insert("available_at".into(), at(row.available_at));
    object.insert("token".into(), row.token.into());
    object.insert("recorded_at".into(), at(Some(row.recorded_at)));
    object.insert("last_outcome".into(), json!(row.last_outcome));
    object
}

fn receipt(receipt: &ReceiptStory) -> Value {
    json!({
        "round": receipt.round,
        "outcome": receipt.outcome,
        "result": bytes(receipt.result.as_deref()),
        "evidence": receipt.evidence,
        "source": receipt.source,
        "recorded_at": at(Some(receipt.recorded_at)),
    })
}

fn lane(place: &LanePlace) -> Value {
    let one = |(id, state): &(String, String)| json!({ "command_id": id, "state": state });
    json!({
        "ordering_key": place.ordering_key,
        "place": place.place,
        "ahead": place.ahead,
        "first_ahead": place.first.iter().map(one).collect::<Vec<_>>(),
        "turn": place.turn.as_ref().map(one),
        "behind": place.behind,
    })
}

fn told(told: &Told) -> Value {
    json!({
        "at": at(Some(told.at)),
        "what": told.what,
        "outcome": told.outcome,
        "reason": told.reason,
        "round": told.round,
        "token": told.token,
    })
}

fn at(at: Option<Micros>) -> Value {
    at.map_or(Value::Null, |at| time(at).into())
}

fn bytes(bytes: Option<&[u8]>) -> Value {
    let Some(bytes) = bytes else { return Value::Null };
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "hex": hex })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_text_where_they_are_and_else_hex() {
        assert_eq!(bytes(None), Value::Null);
        assert_eq!(bytes(Some("订单\0".as_bytes())), json!("订单\0"));
        assert_eq!(bytes(Some(&[0xff, 0])), json!({ "hex": "ff00" }));
    }

    #[test]
    fn a_time_is_shown_to_the_microsecond() {
        assert_eq!(time(Micros::new(1_764_421_200_000_001)), "2025-11-29T13:00:00.000001Z");
        assert_eq!(time(Micros::new(i64::MAX)), format!("{} µs", i64::MAX));
    }

    #[test]
    fn unserved_are_destinations_that_nobody_names_where_a_relay_is_waited_for() {
        let mut counts = Status::default();
        let all = [("a", "pending"), ("b", "published"), ("c", "completed"), ("d", "dead")];
        for (name, state) in all {
            let states = [(state.to_owned(), 2)].into();
            counts.destinations.insert(name.to_owned(), states);
        }
        let counted = unserved(&counts, &["a".to_owned()]);
        assert_eq!(counted, [("b".to_owned(), 2)]);
        let shape = json!({
            "destinations": {
                "a": {"pending": 2}, "b": {"published": 2}, "c": {"completed": 2}, "d": {"dead": 2},
            },
            "unserved": {"b": 2},
            "oldest_due_seconds": {},
            "expiring": {},
            "paused": {},
            "blocked": [],
            "workflows": {
                "quarantined": 0, "waiting": 0, "oldest_waiting_seconds": null, "orphans": 0,
            },
        });
        assert_eq!(status(&counts, &counted), shape);
    }
}
