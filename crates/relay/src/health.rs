//! What the end of an attempt says about its whole destination.
//!
//! Guarantees: each end is told to the destination's limits once; what turns is announced. Does
//! not: decide when claims stop; the breaker does.

use counterfoil_core::domain::breaker::{Health, Verdict};
use counterfoil_core::domain::{Answer, Outcome, Span};
use counterfoil_core::port::store::Ended;
use counterfoil_core::port::{Notice, Observer, Store};

use crate::driver::Driver;
use crate::limits::Turned;

impl<S: Store, O: Observer> Driver<S, O> {
    /// Tells the destination at `place` how an attempt at command `n` ended; whether it burns an
    /// attempt, and how long it waits at least. A probe that failed asks for as long a wait as the
    /// breaker makes.
    pub(crate) fn gauge(&mut self, place: usize, n: i64, ended: &mut Ended) -> Verdict {
        if let Ended::Outcome(outcome) = &ended {
            self.heed(place, outcome);
        }
        let health = health(ended);
        let counts = Verdict { burns: true, wait: Span::ZERO };
        let Some(serving) = self.destinations.get_mut(place) else { return counts };
        if health == Told::Plain(Health::Works) && serving.gauge.is_quiet() {
            return counts;
        }
        let boot = self.options.clock.boot();
        let Some(serving) = self.destinations.change(place) else { return counts };
        let (verdict, turned) = match health {
            Told::Plain(health) => serving.gauge.ended(n, health, boot),
            Told::Unclear => {
                serving.gauge.unclear(n, boot);
                return counts;
            }
            Told::Unheard => {
                serving.gauge.withdrawn(n, boot);
                return counts;
            }
        };
        let destination = serving.served.destination.clone();
        match turned {
            Turned::Opened => {
                serving.opened += 1;
                let reason = reason(ended).to_owned();
                self.observer.notice(&Notice::BreakerOpened { destination, reason });
            }
            Turned::Closed => {
                self.observer.notice(&Notice::BreakerClosed { destination });
            }
            Turned::Not => {}
        }
        if verdict.wait > Span::ZERO {
            wait_at_least(ended, verdict.wait);
        }
        verdict
    }

    /// Takes what an outcome says about its whole destination.
    fn heed(&mut self, place: usize, outcome: &Outcome) {
        let Some(serving) = self.destinations.get_mut(place) else { return };
        let misconfigured = misconfigured(outcome);
        if serving.is_newly_misconfigured(misconfigured) {
            let reason = misconfigured.unwrap_or_default().to_owned();
            let destination = serving.served.destination.clone();
            self.observer.notice(&Notice::Misconfigured { destination, reason });
        }
        if let Outcome::Gone { reason } = outcome {
            self.pause(place, reason.clone());
        }
    }
}

/// What the breaker hears.
#[derive(PartialEq, Eq)]
enum Told {
    Plain(Health),
    /// A question without a usable answer.
    Unclear,
    /// Nothing came of it, or nothing that says whether sends work.
    Unheard,
}

fn health(ended: &Ended) -> Told {
    match ended {
        Ended::Outcome(outcome) => Told::Plain(outcome.health()),
        Ended::Answer(Answer::Done { .. } | Answer::Refused { .. }) => Told::Plain(Health::Works),
        // An address of questions may work, and know nothing, while that of sends does not.
        Ended::Answer(Answer::NotThere { .. } | Answer::InProgress { .. }) | Ended::HandedBack => {
            Told::Unheard
        }
        Ended::Answer(_) => Told::Unclear,
    }
}

fn reason(ended: &Ended) -> &str {
    match ended {
        Ended::Outcome(outcome) => outcome.reason(),
        Ended::Answer(answer) => answer.reason(),
        Ended::HandedBack => "",
    }
}

/// The command is not due again before, so that those that were not probed come first.
fn wait_at_least(ended: &mut Ended, wait: Span) {
    if let Ended::Outcome(
        Outcome::NotSent { retry_after, .. }
        | Outcome::Busy { retry_after, .. }
        | Outcome::Unknown { retry_after, .. },
    ) = ended
    {
        *retry_after = Some(retry_after.map_or(wait, |asked| asked.max(wait)));
    }
}

fn misconfigured(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::NotSent { reason, misconfigured: true, .. } => Some(reason),
        _ => None,
    }
}
