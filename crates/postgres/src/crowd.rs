//! Since when claims at a destination were not let in, as enough others claim there.
//!
//! Guarantees: who was kept out for a second looks all the same, until it is let in: those that
//! claim may be frozen. Does not: know who they are.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use counterfoil_core::domain::{Micros, Span};

/// How long claims let themselves be kept out.
const PATIENCE: Span = Span::from_secs(1);

/// Since when nobody of this process was let in, by destination.
#[derive(Debug, Default)]
pub(crate) struct Crowd(Mutex<HashMap<String, Micros>>);

impl Crowd {
    /// Whether to look there without being let in.
    pub(crate) fn insists(&self, destination: &str, now: Micros) -> bool {
        let out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        out.get(destination).is_some_and(|since| now.since(*since) >= PATIENCE)
    }

    /// A claim there was let in, or was not.
    pub(crate) fn told(&self, destination: &str, let_in: bool, now: Micros) {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let_in {
            out.remove(destination);
        } else if !out.contains_key(destination) {
            out.insert(destination.to_owned(), now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_kept_out_for_a_second_insists_until_it_is_let_in() {
        let (crowd, begun) = (Crowd::default(), Micros::new(1_000_000));
        let at = |ms| begun.plus(Span::from_millis(ms));
        crowd.told("a", false, at(0));
        crowd.told("a", false, at(900));
        assert!(!crowd.insists("a", at(999)));
        assert!(crowd.insists("a", at(1_000)) && !crowd.insists("b", at(1_000)));
        crowd.told("a", false, at(1_100));
        assert!(crowd.insists("a", at(1_200)), "it was not let in yet");
        crowd.told("a", true, at(1_300));
        assert!(!crowd.insists("a", at(1_300)));
        crowd.told("a", false, at(1_400));
        assert!(!crowd.insists("a", at(2_399)) && crowd.insists("a", at(2_400)));
    }
}
