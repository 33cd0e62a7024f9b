//! The right to one attempt, until a time, and the number that fences it.
//!
//! Guarantees: tokens of one command only grow, across crashes, restores and promotions, since
//! they come from the row and the clock and from no sequence. Does not: compare tokens of
//! different commands; that means nothing.

use serde::{Deserialize, Serialize};

use super::time::{Micros, Span};

/// A fencing token: compare it only with tokens of the same command.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Token(i64);

impl Token {
    /// The token of a command that was never claimed.
    pub const NONE: Self = Self(0);

    /// A token as stored or as reported by a receiver.
    #[must_use]
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The token of the next attempt: `max(this + 1, now in µs)`.
    #[must_use]
    pub const fn next(self, now: Micros) -> Self {
        let after = self.0.saturating_add(1);
        Self(if after > now.get() { after } else { now.get() })
    }
}

/// What a claim grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Who holds it; shown to people, never compared.
    pub owner: String,
    /// How long it lasts.
    pub length: Span,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_grows_even_when_the_clock_went_back() {
        let token = Token::new(100);
        assert_eq!(token.next(Micros::new(5000)), Token::new(5000));
        assert_eq!(token.next(Micros::new(100)), Token::new(101));
        assert_eq!(token.next(Micros::new(5)), Token::new(101));
        assert_eq!(Token::new(i64::MAX).next(Micros::new(5)), Token::new(i64::MAX));
    }
}
