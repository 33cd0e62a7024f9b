//! What people do to commands.
//!
//! Guarantees: what a rule refuses changes nothing; what is done is recorded with its actor. Does
//! not: decide; the state machine does.

use counterfoil_core::domain::{Micros, Position, Reason, ReceiptOutcome, transition};
use counterfoil_core::port::{Acted, Actor, Deed};

use super::rows::{Beside, Change, OutboxEntry, Rows};

impl Rows {
    pub(super) fn act_all(
        &mut self,
        deeds: &[Deed],
        actor: &Actor,
        now: Micros,
    ) -> (Vec<Acted>, bool) {
        let acted: Vec<_> = deeds.iter().map(|deed| self.act(deed, actor, now)).collect();
        let changed = acted.iter().any(|one| matches!(one, Acted::Done { .. }));
        (acted, changed)
    }

    fn act(&mut self, deed: &Deed, actor: &Actor, now: Micros) -> Acted {
        let id = deed.command_id.as_str();
        let Some(n) = self.n_of(id) else {
            return self.act_on_archived(deed, actor, now);
        };
        let Some(before) = self.position(n) else { return Acted::Refused(Reason::Ended) };
        let erased = self.outbox.get(&n).is_some_and(OutboxEntry::is_erased);
        if let Some(reason) = deed.refused_before(&before, erased) {
            return Acted::Refused(reason);
        }
        if let Position::Ended(ended) = &before
            && deed.acknowledges()
            && self.is_contradicted(id)
        {
            let outcome = ended.outcome.name();
            self.record_deed(deed, (outcome, outcome), actor, now);
            return Acted::Done { before: outcome, after: outcome };
        }
        let expires_at = self.outbox.get(&n).and_then(OutboxEntry::expires_at);
        let input = deed.act.input(actor, expires_at);
        let next = transition(&before, input, &self.terms_at(n), now);
        let name = |position: &Position| match position {
            Position::Open(open) => open.state.name(),
            Position::Ended(ended) => ended.outcome.name(),
        };
        let after = match self.apply(n, next, Beside { now, ..Beside::default() }) {
            Change::Open(state) => state.name(),
            Change::Ended(outcome) => outcome,
            Change::Contradicted => return Acted::Refused(Reason::Ended),
            Change::Ignored(reason) | Change::Refused(reason) => return Acted::Refused(reason),
        };
        if let Position::Ended(ended) = &before {
            let destination = self.deliveries.get(&n).map(|entry| entry.destination.clone());
            let counted = (destination.unwrap_or_default(), ended.outcome.name().to_owned());
            *self.tally.entry(counted).or_default() -= 1;
        }
        self.record_deed(deed, (name(&before), after), actor, now);
        Acted::Done { before: name(&before), after }
    }

    fn act_on_archived(&mut self, deed: &Deed, actor: &Actor, now: Micros) -> Acted {
        let id = deed.command_id.as_str();
        let Some(tombstone) = self.tombstone_of(id) else { return Acted::Unknown };
        let acted = deed.to_archived(&tombstone.outcome, self.is_contradicted(id));
        if let Acted::Done { before, after } = acted {
            self.record_deed(deed, (before, after), actor, now);
        }
        acted
    }

    fn record_deed(&mut self, deed: &Deed, change: (&str, &str), actor: &Actor, now: Micros) {
        let about = (deed.act.name(), deed.command_id.as_str());
        self.record_act(about, change, &actor.name, &actor.reason, now);
    }

    /// Whether a report contradicts the command's receipt, and nobody has looked into it since.
    pub(super) fn is_contradicted(&self, id: &str) -> bool {
        let said = self.contradictions.iter().filter(|entry| entry.command_id == id);
        let last = said.map(|entry| entry.recorded_at).max();
        last.is_some_and(|last| self.acknowledged_at(id).is_none_or(|at| at < last))
    }

    /// When somebody last said of the ended command what is true.
    pub(super) fn acknowledged_at(&self, id: &str) -> Option<Micros> {
        let is_ended = |name: &str| ReceiptOutcome::ALL.iter().any(|one| one.name() == name);
        let about = self.actions.iter().filter(|act| act.verb == "resolve" && act.about == id);
        about.filter(|act| is_ended(&act.before)).map(|act| act.recorded_at).max()
    }
}
