//! `GET /metrics`: what this process counted, and how its store and its relay stand now.
//!
//! Guarantees: bounded, whatever stands in the outbox; a store that does not answer leaves its
//! own families out and `counterfoil_store_up` at 0. Does not: know of other relays: sum over all.

mod counters;
mod family;
mod glimpse;
mod histogram;
mod page;
mod window;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use counterfoil_core::domain::{Span, State as CommandState};
use counterfoil_core::port::Store;
use counterfoil_core::port::read::{Status, StillWorkflows};

pub use counters::Counters;
pub(crate) use glimpse::Glimpse;

use crate::board::Board;
use crate::desk::Desk;
use crate::json;
use crate::options::ApiOptions;
use counters::{Counts, DESTINATIONS_MAX, OTHERS, Towards};
use page::Page;

/// The outcomes of sends; each has its series from the start.
const OUTCOMES: [&str; 6] =
    ["completed", "accepted", "rejected", "not_sent", "unknown", "conflict"];
/// The states that a command may be parked in.
const PARKED: [&str; 3] = ["dead", "uncertain", "conflict"];

/// The page.
pub(crate) async fn serve<S: Store>(State(desk): State<Arc<Desk<S>>>) -> Response {
    let status = desk.glimpse.status(&desk.store).await;
    let mut response = text(&desk.options, status.as_deref()).into_response();
    let format = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, format);
    response
}

fn text(options: &ApiOptions, status: Option<&Status>) -> String {
    let mut page = Page::default();
    page.begin(&family::BUILD).add(&[env!("CARGO_PKG_VERSION")], 1);
    let counts = options.counters.as_ref().map(|counters| counters.all()).unwrap_or_default();
    counted(&mut page, &counts);
    seen(&mut page, options);
    page.begin(&family::STORE_UP).add(&[], status.is_some().into());
    stands(&mut page, status.unwrap_or(&Status::default()), options.served.as_deref());
    workflows(&mut page, status.map(|status| &status.workflows));
    page.into_text()
}

/// What the relay of this process did.
fn counted(page: &mut Page, counts: &Counts) {
    let by_name = |page: &mut Page, family, names: &[&'static str], of: fn(&Towards) -> &Names| {
        let mut samples = page.begin(family);
        for (destination, towards) in &counts.destinations {
            let mut values: Names = names.iter().map(|name| (*name, 0)).collect();
            values.extend(of(towards));
            for (name, value) in values {
                samples.add(&[destination, name], value);
            }
        }
    };
    let each = |page: &mut Page, family, of: fn(&Towards) -> u64| {
        let mut samples = page.begin(family);
        for (destination, towards) in &counts.destinations {
            samples.add(&[destination], of(towards));
        }
    };
    by_name(page, &family::ATTEMPTS, &OUTCOMES, |towards| &towards.attempts);
    let mut samples = page.begin(&family::DURATION);
    for (destination, towards) in &counts.destinations {
        samples.add_histogram(&[destination], &towards.duration);
    }
    by_name(page, &family::QUESTIONS, &[], |towards| &towards.questions);
    page.begin(&family::CLAIMS).add(&[], counts.claims);
    page.begin(&family::TAKEOVERS).add(&[], counts.takeovers);
    page.begin(&family::HANDED_BACK).add(&[], counts.handed_back);
    page.begin(&family::LATE).add(&[], counts.late);
    page.begin(&family::LEASES_LOST).add(&[], counts.leases_lost);
    by_name(page, &family::PARKED, &PARKED, |towards| &towards.parked);
    each(page, &family::EXPIRED, |towards| towards.expired);
    each(page, &family::BREAKER_OPENED, |towards| towards.breaker_opened);
    each(page, &family::MISCONFIGURED, |towards| towards.misconfigured);
    each(page, &family::PAUSES, |towards| towards.pauses);
    page.begin(&family::STORE_FAILURES).add(&[], counts.store_failures);
}

type Names = BTreeMap<&'static str, u64>;

/// How the relay of this process stands.
fn seen(page: &mut Page, options: &ApiOptions) {
    let board = options.board.as_deref();
    let mut workers = page.begin(&family::WORKERS);
    if let Some(board) = board {
        workers.add(&[], board.workers() as u64);
    }
    let standings = board.map(Board::standings).unwrap_or_default();
    let mut in_flight = page.begin(&family::IN_FLIGHT);
    for standing in &standings {
        in_flight.add(&[&standing.destination], standing.in_flight as u64);
    }
    let mut open = page.begin(&family::BREAKER_OPEN);
    for standing in &standings {
        open.add(&[&standing.destination], standing.is_held_back().into());
    }
}

/// How the store stands.
fn stands(page: &mut Page, status: &Status, served: Option<&[String]>) {
    let sums = || Sums::of(served.unwrap_or_default());
    let (mut open, mut ended) = (sums(), sums());
    for (destination, states) in &status.destinations {
        for (state, count) in states {
            let is_open = CommandState::from_name(state).is_some();
            let sums = if is_open { &mut open } else { &mut ended };
            sums.add(destination, state, *count, |sum, count| sum + count);
        }
    }
    let mut oldest = sums();
    for destination in status.destinations.keys() {
        let due = status.oldest_due.get(destination).map_or(0, |span| span.as_micros());
        oldest.add(destination, "", due.max(0).unsigned_abs(), u64::max);
    }
    let mut unserved = sums();
    for (destination, count) in served.map_or_else(Vec::new, |all| json::unserved(status, all)) {
        unserved.add(&destination, "", count, |sum, count| sum + count);
    }
    let mut paused = sums();
    let names = status.destinations.keys().chain(&status.declared).chain(status.paused.keys());
    for destination in names {
        let is_paused = status.paused.contains_key(destination);
        paused.add(destination, "", is_paused.into(), u64::max);
    }
    open.write(page, &family::OPEN, false);
    ended.write(page, &family::ENDED, false);
    oldest.write(page, &family::OLDEST_DUE, true);
    unserved.write(page, &family::UNSERVED, false);
    paused.write(page, &family::PAUSED, false);
}

/// What of workflows stands still.
fn workflows(page: &mut Page, still: Option<&StillWorkflows>) {
    let each = |page: &mut Page, family, of: fn(&StillWorkflows) -> u64| {
        let mut samples = page.begin(family);
        if let Some(still) = still {
            samples.add(&[], of(still));
        }
    };
    each(page, &family::QUARANTINED, |still| still.quarantined);
    each(page, &family::WAITING_STARTS, |still| still.starts);
    let mut oldest = page.begin(&family::OLDEST_START);
    if let Some(still) = still {
        let micros = still.oldest_start.map_or(0, Span::as_micros);
        oldest.add_micros(&[], micros.max(0).unsigned_abs());
    }
    each(page, &family::ORPHANS, |still| still.orphans);
}

/// Values by destination and name: of all that are served, and of a bounded number of others, which
/// a stranger's rows may name.
struct Sums<'a> {
    served: &'a [String],
    values: BTreeMap<String, BTreeMap<&'a str, u64>>,
}

impl<'a> Sums<'a> {
    fn of(served: &'a [String]) -> Self {
        Self { served, values: BTreeMap::new() }
    }

    fn add(&mut self, destination: &str, name: &'a str, value: u64, join: fn(u64, u64) -> u64) {
        let is_full =
            self.values.len() >= DESTINATIONS_MAX && !self.values.contains_key(destination);
        let is_other = is_full && !self.served.iter().any(|served| served == destination);
        let destination = if is_other { OTHERS } else { destination };
        let value_of =
            self.values.entry(destination.to_owned()).or_default().entry(name).or_default();
        *value_of = join(*value_of, value);
    }

    fn write(self, page: &mut Page, family: &'static family::Family, is_micros: bool) {
        let mut samples = page.begin(family);
        for (destination, values) in &self.values {
            for (name, value) in values {
                let labels = [destination.as_str(), *name];
                if is_micros {
                    samples.add_micros(&labels, *value);
                } else {
                    samples.add(&labels, *value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_stranger_cannot_make_the_page_long() {
        let mut status = Status::default();
        for n in 0..10_000 {
            let states = [("pending".to_owned(), 1)].into();
            status.destinations.insert(format!("d{n}"), states);
        }
        let options = ApiOptions { served: Some(Vec::new()), ..ApiOptions::default() };
        let page = text(&options, Some(&status));
        assert!(page.len() < 300_000, "{}", page.len());
        let rest = 10_000 - DESTINATIONS_MAX;
        let line = format!("open_commands{{destination=\"(others)\",state=\"pending\"}} {rest}\n");
        assert!(page.contains(&line), "{page:.2000}");
    }

    /// It was summed up with the rows of a stranger, and no alert spoke of it any more.
    #[test]
    fn rows_of_a_stranger_hide_no_destination_that_is_served() {
        let mut status = Status::default();
        let name = |n: u32| format!("d{n:05}");
        for n in 0..1_000 {
            status.destinations.insert(name(n), [("dead".to_owned(), 1)].into());
        }
        status.destinations.insert("shipping".into(), [("dead".to_owned(), 7)].into());
        let served = Some(vec!["shipping".to_owned()]);
        let page = text(&ApiOptions { served, ..ApiOptions::default() }, Some(&status));
        let line = "open_commands{destination=\"shipping\",state=\"dead\"} 7\n";
        assert!(page.contains(line), "{page:.2000}");
        assert!(page.contains("oldest_due_age_seconds{destination=\"shipping\"} 0.000000\n"));
    }

    #[test]
    fn every_family_is_served_once_and_in_the_docs() {
        let page = text(&ApiOptions::default(), None);
        let docs = include_str!("../../../../docs/metrics.md");
        let mut rows = docs.lines().filter(|line| line.starts_with("| `counterfoil_"));
        for family in family::FAMILIES {
            let (name, kind) = (family.name, family.kind.name());
            let line = format!("# TYPE {name} {kind}\n");
            assert_eq!(page.matches(&line).count(), 1, "{name}");
            let labels: Vec<_> = family.labels.iter().map(|label| format!("`{label}`")).collect();
            let row = format!("| `{name}` | {kind} | {} | ", labels.join(", "));
            let found = rows.next().unwrap_or_default();
            let found = found.replace("|  |", "| |");
            assert!(found.starts_with(&row.replace("|  |", "| |")), "{row}\n{found}");
        }
        assert_eq!(rows.next(), None, "the page lists what is not served");
        assert_eq!(page.matches("# TYPE").count(), family::FAMILIES.len());
    }
}
