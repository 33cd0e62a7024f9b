//! The trip in the simulator: whatever crashes, is lost or comes twice, each account has what the
//! ends of the trips say.

use std::collections::BTreeMap;

use counterfoil::Span;
use counterfoil::testing::simulation::{Simulation, Told};
use counterfoil::testing::workflow::{Answer, completed, rejected};
use counterfoil::workflow::{End, Programs};
use workflows::{Posting, Trip, trip};

/// A handful; a night's run would take thousands.
const SEEDS: u64 = 25;

fn posted(body: &[u8]) -> Option<Posting> {
    serde_json::from_slice(body).ok()
}

/// A full hotel takes no money.
fn ledger(body: &[u8]) -> Answer {
    match posted(body) {
        Some(posting) if posting.to != "full" => completed(&()),
        Some(_) => rejected("no bed"),
        None => rejected("no posting"),
    }
}

fn balance(told: &Told) -> BTreeMap<String, i64> {
    let mut cents = BTreeMap::new();
    for Posting { from, to, amount } in told.effects.iter().filter_map(|it| posted(&it.body)) {
        *cents.entry(from).or_default() -= amount;
        *cents.entry(to).or_default() += amount;
    }
    cents
}

/// A trip that is through has been paid, one that turned back has cost nothing; one that waits for
/// a person has its money where its commands say.
fn books(told: &Told) -> Result<(), String> {
    let through = |end: &Option<End>| matches!(end, Some(End::Completed(_)));
    let paid = told.workflows.iter().filter(|trip| through(&trip.end)).count();
    let waits = told.workflows.iter().any(|trip| trip.end.is_none());
    let cents = balance(told);
    let of = |account: &str| cents.get(account).copied().unwrap_or(0);
    let trips = i64::try_from(paid).unwrap_or(0);
    let stands = (of("ann"), of("budget"), of("airline"), of("agency"));
    let meant = (-100 * trips, 0, 60 * trips, 10 * trips);
    if waits || stands == meant {
        Ok(())
    } else {
        Err(format!("{paid} trips are through, and the books say {cents:?}"))
    }
}

#[test]
fn trips_keep_the_books_whatever_happens() -> Result<(), counterfoil::workflow::ProgramsRefused> {
    let mut trips = Simulation::of(Programs::new().with(trip())?)
        .receiver("ledger", |asked| ledger(asked.body))
        .check(books);
    for (at, hotel) in ["hotel", "full", "hotel", "hotel"].into_iter().enumerate() {
        let stream = format!("trip-{at}");
        let body = Trip { airline: "airline".into(), hotel: hotel.into() };
        trips = trips.start(&stream, "trip", &body);
        trips = match at {
            0 | 1 => trips.signal_after(&stream, Span::ZERO, "approve", &"ok"),
            3 => trips.cancel_after(&stream, Span::from_secs(5), "rain"),
            _ => trips,
        };
    }
    let reached = trips.run(0..SEEDS);
    for what in ["crashes", "workflows completed", "workflows failed"] {
        assert!(reached.of(what) > 0, "no seed reached: {what}\n{reached}");
    }
    Ok(())
}
