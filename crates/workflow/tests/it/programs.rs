//! Programs that the tests run.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use counterfoil_core::domain::Span;
use counterfoil_workflow::{Decision, Input, Unnamed, What, Workflow};
use serde::{Deserialize, Serialize};

/// A command to the bank.
pub(crate) fn pay(label: &str, body: &impl Serialize) -> Unnamed {
    Unnamed::json("bank", "pay", body).unwrap().labelled(label)
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Happened {
    Asked,
    Added { number: u64 },
    Rang { name: String },
}

/// One command, then the end.
pub(crate) struct Order;

impl Workflow for Order {
    type State = ();
    type Event = Happened;

    fn name(&self) -> &str {
        "order"
    }

    fn evolve(&self, (): (), _: &Happened) {}

    fn decide(&self, (): &(), input: &Input) -> Decision<Happened> {
        match &input.what {
            What::Start { body } => {
                let amount: u64 = serde_json::from_slice(body).unwrap_or(0);
                Decision::none().event(Happened::Asked).command(pay("pay", &amount))
            }
            What::Receipt(receipt) if receipt.is_done() => Decision::none().complete("paid"),
            What::Receipt(_) => Decision::none().fail("not paid"),
            What::Cancel { reason } => Decision::none().cancel("pay").fail(reason.as_str()),
            _ => Decision::none(),
        }
    }
}

/// An order whose events nobody can read any more.
pub(crate) struct Forgetful;

impl Workflow for Forgetful {
    type State = ();
    type Event = Nothing;

    fn name(&self) -> &str {
        "order"
    }

    fn evolve(&self, (): (), _: &Nothing) {}

    fn decide(&self, (): &(), _: &Input) -> Decision<Nothing> {
        Decision::none()
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Nothing {}

/// Counts its signals, as its events say, and issues a command for each where `asks`.
pub(crate) struct Tally {
    pub(crate) asks: bool,
    /// How many events each signal gives.
    pub(crate) events: u64,
    pub(crate) version: u32,
}

impl Tally {
    pub(crate) const fn new() -> Self {
        Self { asks: true, events: 1, version: 1 }
    }
}

impl Workflow for Tally {
    type State = u64;
    type Event = Happened;

    fn name(&self) -> &str {
        "tally"
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn evolve(&self, count: u64, event: &Happened) -> u64 {
        count + u64::from(matches!(event, Happened::Added { .. }))
    }

    fn decide(&self, count: &u64, input: &Input) -> Decision<Happened> {
        match &input.what {
            What::Signal { name, .. } if name == "end" => Decision::none().complete(*count),
            What::Signal { .. } => {
                let events = (1..=self.events).map(|n| Happened::Added { number: count + n });
                let said = events.fold(Decision::none(), Decision::event);
                if self.asks { said.command(pay(&input.id, &input.id)) } else { said }
            }
            _ => Decision::none(),
        }
    }
}

/// Sets many timers for one moment, and ends when all have rung.
pub(crate) struct Alarm {
    pub(crate) timers: usize,
}

impl Workflow for Alarm {
    type State = usize;
    type Event = Happened;

    fn name(&self) -> &str {
        "alarm"
    }

    fn evolve(&self, rang: usize, _: &Happened) -> usize {
        rang + 1
    }

    fn decide(&self, rang: &usize, input: &Input) -> Decision<Happened> {
        match &input.what {
            What::Start { .. } => (0..self.timers).fold(Decision::none(), |said, number| {
                said.timer_after(format!("t{number}"), Span::from_secs(60))
            }),
            What::Timer { name } => {
                let said = Decision::none().event(Happened::Rang { name: name.clone() });
                if rang + 1 == self.timers { said.complete(rang + 1) } else { said }
            }
            _ => Decision::none(),
        }
    }
}

/// Panics or never answers on the signal `bad`, until it is mended.
pub(crate) struct Fragile {
    pub(crate) is_mended: Arc<AtomicBool>,
    pub(crate) is_endless: bool,
}

impl Workflow for Fragile {
    type State = u64;
    type Event = Happened;

    fn name(&self) -> &str {
        "fragile"
    }

    fn evolve(&self, count: u64, _: &Happened) -> u64 {
        count + 1
    }

    fn decide(&self, count: &u64, input: &Input) -> Decision<Happened> {
        let is_bad = matches!(&input.what, What::Signal { name, .. } if name == "bad");
        while is_bad && !self.is_mended.load(Ordering::Acquire) {
            assert!(self.is_endless, "bad luck");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Decision::none().event(Happened::Added { number: *count })
    }
}

/// Issues commands in the order of a hash map.
pub(crate) struct Unordered;

impl Workflow for Unordered {
    type State = HashMap<String, u32>;
    type Event = Happened;

    fn name(&self) -> &str {
        "unordered"
    }

    fn evolve(&self, mut seats: HashMap<String, u32>, event: &Happened) -> HashMap<String, u32> {
        if let Happened::Rang { name } = event {
            seats.insert(name.clone(), 1);
        }
        seats
    }

    fn decide(&self, seats: &HashMap<String, u32>, input: &Input) -> Decision<Happened> {
        match &input.what {
            What::Start { .. } => (0..8).fold(Decision::none(), |said, number| {
                said.event(Happened::Rang { name: format!("seat-{number}") })
            }),
            What::Signal { .. } => {
                seats.keys().fold(Decision::none(), |said, seat| said.command(pay(seat, seat)))
            }
            _ => Decision::none(),
        }
    }
}
