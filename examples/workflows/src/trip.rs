//! A trip: a budget is locked, flight and hotel are booked side by side, somebody approves, the
//! agency gets its fee; where one of these fails, all before it is undone.

use counterfoil::workflow::{Saga, Step, Unnamed};
use counterfoil::{CommandRefused, Span};
use serde::{Deserialize, Serialize};

use crate::Posting;

/// What a trip is started with: the accounts that are paid.
#[derive(Serialize, Deserialize)]
pub struct Trip {
    /// Who flies.
    pub airline: String,
    /// Who has beds.
    pub hotel: String,
}

fn pay(from: &str, to: &str, amount: i64) -> Result<Unnamed, CommandRefused> {
    let (from, to) = (from.to_owned(), to.to_owned());
    Unnamed::json("ledger", "post", &Posting { from, to, amount })
}

/// The program.
#[must_use]
pub fn trip() -> Saga<Trip> {
    Saga::new("trip")
        .step(
            Step::new("budget", |_: &Trip, _| pay("ann", "budget", 100))
                .undo(|_, _| pay("budget", "ann", 100)),
        )
        .group(vec![
            Step::new("flight", |trip: &Trip, _| pay("budget", &trip.airline, 60))
                .undo(|trip, _| pay(&trip.airline, "budget", 60)),
            Step::new("hotel", |trip: &Trip, _| pay("budget", &trip.hotel, 30))
                .undo(|trip, _| pay(&trip.hotel, "budget", 30)),
        ])
        .wait("approve", Span::from_secs(1))
        .step(Step::new("fee", |_: &Trip, _| pay("budget", "agency", 10)))
}
