//! The time in which a receiver certainly still remembers a key.
//!
//! Guarantees: inside the window a resend with the same id folds into the first effect. Does not:
//! trust a clock that went back: that counts as over.

use serde::{Deserialize, Serialize};

use super::time::{Micros, Span};

/// Whether the receiver folds repeats of a key into one effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Idempotent {
    /// It does, while it remembers the key.
    Window {
        /// How long it remembers, from the first send.
        key_ttl: Span,
    },
    /// It does, for ever.
    Forever,
    /// It does not.
    No,
}

/// The share of `key_ttl` that is used: 95 %, so that two clocks may differ a little.
pub const USED: (i64, i64) = (95, 100);

/// Whether an attempt that starts `now` and may live as long as `lease` ends while the receiver
/// still remembers the key first sent at `first_sent_at`. A command that was never sent is inside.
#[must_use]
pub fn is_inside(
    idempotent: &Idempotent,
    first_sent_at: Option<Micros>,
    now: Micros,
    lease: Span,
) -> bool {
    match (idempotent, first_sent_at) {
        (Idempotent::No, _) => false,
        (Idempotent::Forever, _) | (Idempotent::Window { .. }, None) => true,
        (Idempotent::Window { key_ttl }, Some(first)) => {
            now >= first && now.plus(lease) <= first.plus(key_ttl.times(USED.0, USED.1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_ends_early_and_a_clock_that_went_back_is_over() {
        let day = Idempotent::Window { key_ttl: Span::from_secs(86_400) };
        let first = Micros::EARLIEST;
        let lease = Span::from_secs(30);
        let last = first.plus(Span::from_secs(82_080 - 30));
        assert!(is_inside(&day, Some(first), last, lease));
        assert!(!is_inside(&day, Some(first), last.plus(Span::from_micros(1)), lease));
        assert!(!is_inside(&day, Some(first), Micros::new(first.get() - 1), lease));
        assert!(is_inside(&day, None, last, lease));
        assert!(is_inside(&Idempotent::Forever, Some(first), Micros::new(0), lease));
        assert!(!is_inside(&Idempotent::No, None, first, lease));
    }
}
