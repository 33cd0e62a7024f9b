//! What people said and allowed about each command, so that what follows from it is theirs.
//!
//! Guarantees: exact: a permission covers one act more, by the round it was given for, and a false
//! word covers what had been sent when it was said; nothing else is excused. Does not: know what a
//! receiver did; whoever writes into it does.

use std::collections::{BTreeMap, BTreeSet};

/// A permission to act once more.
#[derive(Clone, Copy, Debug)]
struct Permit {
    /// How often its receiver had acted before, for attempts of `token` or older.
    acts: usize,
    /// The newest token when it was given.
    token: i64,
}

/// What people said about one command.
#[derive(Clone, Debug, Default)]
struct Said {
    /// Somebody allowed it to act once more; `None`: nobody did, or it is used up.
    permit: Option<Permit>,
    /// How many acts more were begun under a permission.
    more: usize,
    /// Attempts begun under a permission at a receiver that forgets keys.
    begun: BTreeSet<i64>,
    /// What was sent under this token or an older one belongs to what a person closed.
    past_token: i64,
    /// A second act of an attempt of the past was allowed.
    past_allowed: bool,
    /// How many acts belong to the past.
    past: usize,
    /// Somebody acted on it.
    is_touched: bool,
}

/// What people said about all commands.
#[derive(Debug, Default)]
pub(super) struct Ledger(BTreeMap<String, Said>);

impl Ledger {
    fn of(&mut self, id: &str) -> &mut Said {
        self.0.entry(id.to_owned()).or_default()
    }

    /// Somebody did something to it.
    pub(super) fn touched(&mut self, id: &str) {
        self.of(id).is_touched = true;
    }

    pub(super) fn is_touched(&self, id: &str) -> bool {
        self.0.get(id).is_some_and(|said| said.is_touched)
    }

    /// A person closed what was sent up to `token`, with so many acts; what comes after is new.
    pub(super) fn closed(&mut self, id: &str, token: i64, acts: usize) {
        let said = self.of(id);
        (said.past_token, said.past) = (token, acts);
    }

    /// A person allowed that it acts once more, though it had acted so often, or may yet, for
    /// attempts up to `token`.
    pub(super) fn allowed(&mut self, id: &str, token: i64, acts: usize) {
        let said = self.of(id);
        (said.permit, said.past_allowed) = (Some(Permit { acts, token }), true);
    }

    /// The one send that it stands for at a receiver without keys was made, or its round is over.
    /// Where keys are known for a while it stands until the receiver acts once more: which send
    /// that will be follows from what the receiver remembers, which nobody else knows.
    pub(super) fn lapsed(&mut self, id: &str) {
        if let Some(said) = self.0.get_mut(id) {
            said.permit = None;
        }
    }

    /// How many of its acts belong to what a person closed.
    pub(super) fn past(&self, id: &str) -> usize {
        self.0.get(id).map_or(0, |said| said.past)
    }

    /// Whether a person allowed an attempt that may act again.
    pub(super) fn may_begin(&self, id: &str, token: i64) -> bool {
        self.0.get(id).is_some_and(|said| {
            said.permit.is_some() || (said.past_allowed && token <= said.past_token)
        })
    }

    /// Such an attempt is on its way.
    pub(super) fn begins(&mut self, id: &str, token: i64, forgets: bool) {
        let said = self.of(id);
        if forgets {
            said.begun.insert(token);
        } else {
            // Each attempt at a receiver without keys acts by itself.
            said.more += 1;
        }
    }

    /// It acted, so often by now, for the attempt of `token`; whether it may have.
    pub(super) fn acted(&mut self, id: &str, token: i64, acts: usize) -> bool {
        let Some(said) = self.0.get_mut(id) else { return acts <= 1 };
        if token <= said.past_token {
            said.past += 1;
        }
        if let Some(permit) = said.permit.as_mut().filter(|permit| token <= permit.token) {
            permit.acts += 1;
        }
        if acts > 1 + said.more && !said.begun.is_empty() {
            said.more += 1;
            said.begun.clear();
        }
        if said.permit.is_some_and(|before| acts > before.acts && acts > 1) {
            said.permit = None;
        }
        acts <= 1 + said.more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_permission_is_one_act() {
        let mut ledger = Ledger::default();
        assert!(ledger.acted("a", 1, 1));
        assert!(!ledger.may_begin("a", 2), "nobody allowed it");
        ledger.allowed("a", 1, 1);
        assert!(ledger.may_begin("a", 2));
        ledger.begins("a", 2, false);
        ledger.lapsed("a");
        assert!(!ledger.may_begin("a", 3), "it is used up");
        assert!(ledger.acted("a", 2, 2));
        assert!(!ledger.acted("a", 3, 3));
    }

    #[test]
    fn attempts_of_one_permission_at_a_receiver_that_forgets_act_once_together() {
        let mut ledger = Ledger::default();
        assert!(ledger.acted("a", 1, 1));
        ledger.allowed("a", 1, 1);
        assert!(ledger.may_begin("a", 2) && ledger.may_begin("a", 3));
        ledger.begins("a", 2, true);
        ledger.begins("a", 3, true);
        assert!(ledger.acted("a", 3, 2));
        assert!(!ledger.acted("a", 2, 3));
    }

    #[test]
    fn an_older_attempt_uses_up_no_permission() {
        let mut ledger = Ledger::default();
        assert!(ledger.acted("a", 1, 1));
        ledger.allowed("a", 1, 1);
        ledger.begins("a", 2, false);
        ledger.lapsed("a");
        ledger.allowed("a", 2, 1);
        assert!(ledger.acted("a", 2, 2), "it was allowed by the first");
        assert!(ledger.may_begin("a", 3), "the second is left");
    }

    #[test]
    fn what_was_sent_before_a_word_belongs_to_it() {
        let mut ledger = Ledger::default();
        ledger.closed("a", 5, 0);
        assert!(ledger.acted("a", 5, 1));
        assert_eq!(ledger.past("a"), 1);
        ledger.closed("a", 7, 1);
        assert!(!ledger.acted("a", 8, 2));
        assert_eq!(ledger.past("a"), 1);
    }
}
