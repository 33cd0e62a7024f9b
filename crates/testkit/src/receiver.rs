//! A receiver in memory that counts its effects by key.
//!
//! Guarantees: with keys, a repeat of the same content acts once and gets the stored result;
//! without keys, each call acts. Does not: forget keys.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use counterfoil_core::domain::{Outcome, ResultBody};

#[derive(Debug, Default)]
struct Book {
    /// By key: the body that came first, and how often it acted.
    keys: BTreeMap<String, (Vec<u8>, u64)>,
}

/// A receiver.
#[derive(Debug)]
pub struct Receiver {
    knows_keys: bool,
    book: Mutex<Book>,
}

impl Receiver {
    /// A receiver that folds repeats of a key into one effect.
    #[must_use]
    pub fn with_keys() -> Self {
        Self { knows_keys: true, book: Mutex::default() }
    }

    /// A receiver that acts on every call.
    #[must_use]
    pub fn without_keys() -> Self {
        Self { knows_keys: false, book: Mutex::default() }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one call and answers as a good receiver does.
    pub fn receive(&self, key: &str, body: &[u8]) -> Outcome {
        let mut book = self.book();
        let (first, effects) = book.keys.entry(key.to_owned()).or_insert((body.to_vec(), 0));
        if self.knows_keys && *effects > 0 {
            if first != body {
                return Outcome::Conflict { reason: "the key stands with another body".into() };
            }
        } else {
            *effects += 1;
        }
        let result = ResultBody::whole(format!("done {key}"));
        Outcome::Completed { result, evidence: "the receiver said so".into() }
    }

    /// How often a key has acted.
    #[must_use]
    pub fn effects(&self, key: &str) -> u64 {
        self.book().keys.get(key).map_or(0, |(_, effects)| *effects)
    }

    /// How often all keys together have acted.
    #[must_use]
    pub fn effects_in_all(&self) -> u64 {
        self.book().keys.values().map(|(_, effects)| effects).sum()
    }

    /// The keys that have acted, in order.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        self.book().keys.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_fold_repeats_and_tell_other_content() {
        let receiver = Receiver::with_keys();
        assert_eq!(receiver.receive("a", b"1"), receiver.receive("a", b"1"));
        assert_eq!(receiver.receive("a", b"2").name(), "conflict");
        assert_eq!(receiver.effects("a"), 1);
        let plain = Receiver::without_keys();
        plain.receive("a", b"1");
        plain.receive("a", b"1");
        assert_eq!((plain.effects("a"), plain.effects_in_all()), (2, 2));
    }
}
