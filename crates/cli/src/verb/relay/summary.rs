//! What a relay did, in one line: an observer that counts and passes on.
//!
//! Guarantees: counts what this relay settled, and no more. Does not: know of other relays, nor
//! of receipts that came by SQL or HTTP.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use counterfoil_core::port::{Notice, Observer};

/// The names of answers to questions; all other outcomes are of sends.
const ANSWERS: [&str; 5] = ["done", "refused", "not_there", "in_progress", "unclear"];
/// How commands end and where they stay, in the order of the line.
const SAID: [&str; 8] =
    ["completed", "accepted", "rejected", "expired", "published", "dead", "uncertain", "conflict"];

/// Counts what is noticed, and passes it on.
#[derive(Clone)]
pub(super) struct Summary<O> {
    inner: O,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Default)]
struct Counts {
    sent: u64,
    asked: u64,
    led_to: BTreeMap<&'static str, u64>,
}

impl<O> Summary<O> {
    pub(super) fn new(inner: O) -> Self {
        Self { inner, counts: Arc::default() }
    }
}

impl<O: Observer> Observer for Summary<O> {
    fn notice(&self, notice: &Notice) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).add(notice);
        self.inner.notice(notice);
    }
}

impl Counts {
    fn add(&mut self, notice: &Notice) {
        match notice {
            Notice::Settled { outcome, now, .. } => {
                if ANSWERS.contains(outcome) {
                    self.asked += 1;
                } else {
                    self.sent += 1;
                }
                // Parking has a notice of its own, which comes for time-outs too.
                if !matches!(*now, "dead" | "uncertain" | "conflict") {
                    *self.led_to.entry(now).or_default() += 1;
                }
            }
            Notice::Parked { state, .. } => *self.led_to.entry(state.name()).or_default() += 1,
            Notice::Expired { .. } => *self.led_to.entry("expired").or_default() += 1,
            _ => {}
        }
    }
}

impl<O> fmt::Display for Summary<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let plural = |n: u64| if n == 1 { "" } else { "s" };
        write!(f, "in all: {} send{}", counts.sent, plural(counts.sent))?;
        if counts.asked > 0 {
            write!(f, ", {} question{}", counts.asked, plural(counts.asked))?;
        }
        let led = |name: &&&str| counts.led_to.contains_key(**name) || **name == "completed";
        for name in SAID.iter().filter(led) {
            let count = counts.led_to.get(name).copied().unwrap_or_default();
            write!(f, ", {count} {name}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use counterfoil_core::domain::{CommandId, Destination, Span, State};
    use counterfoil_core::port::observer::Quiet;

    use super::*;

    fn settled(outcome: &'static str, now: &'static str) -> Notice {
        Notice::Settled {
            command: CommandId::new("a").unwrap(),
            destination: Destination::new("shipping").unwrap(),
            outcome,
            reason: String::new(),
            now,
            attempt: 1,
            took: Span::ZERO,
            trace: None,
        }
    }

    #[test]
    fn it_counts_sends_and_questions_and_what_they_led_to() {
        let summary = Summary::new(Quiet);
        assert_eq!(summary.to_string(), "in all: 0 sends, 0 completed");
        summary.notice(&settled("completed", "completed"));
        assert_eq!(summary.to_string(), "in all: 1 send, 1 completed");
        summary.notice(&settled("unknown", "pending"));
        summary.notice(&settled("unknown", "uncertain"));
        summary.notice(&settled("done", "completed"));
        let (command, destination) = ("b".into(), "shipping".into());
        let state = State::Uncertain;
        let (reason, trace) = (String::new(), None);
        summary.notice(&Notice::Parked { command, destination, state, reason, trace });
        let (command, destination) = ("c".into(), "shipping".into());
        summary.notice(&Notice::Expired { command, destination });
        let line = "in all: 3 sends, 1 question, 2 completed, 1 expired, 1 uncertain";
        assert_eq!(summary.to_string(), line);
    }
}
