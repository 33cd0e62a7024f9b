//! What people do to commands.
//!
//! Guarantees: what a rule refuses changes nothing; what is done is recorded with its actor. Does
//! not: decide; the state machine does.

use counterfoil_core::domain::{Input, Micros, Position, Reason, State, transition};
use counterfoil_core::port::{Act, Acted, Actor, Deed};

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
            let archived = self.archived.contains_key(id);
            return if archived { Acted::Archived } else { Acted::Unknown };
        };
        let Some(before) = self.position(n) else { return Acted::Refused(Reason::Ended) };
        let erased = self.outbox.get(&n).is_some_and(|entry| entry.erased);
        if erased && matches!(deed.act, Act::Retry { .. } | Act::Redeliver { .. }) {
            return Acted::Refused(Reason::Erased);
        }
        let doubtful = match &before {
            Position::Open(open) => open.in_doubt || open.state == State::Uncertain,
            Position::Ended(_) => false,
        };
        if deed.by_filter && doubtful {
            return Acted::Refused(Reason::InDoubt);
        }
        let expires_at = self.outbox.get(&n).and_then(OutboxEntry::expires_at);
        let input = input(deed, actor, expires_at);
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
        self.record_act((deed.act.name(), id, after), &actor.name, &actor.reason, now);
        Acted::Done { before: name(&before), after }
    }
}

fn input(deed: &Deed, actor: &Actor, expires_at: Option<Micros>) -> Input {
    let (name, reason) = (actor.name.clone(), actor.reason.clone());
    match &deed.act {
        Act::Retry { may_act_twice } => Input::Retry { may_act_twice: *may_act_twice, expires_at },
        Act::Resolve(verdict) => {
            Input::Resolve { verdict: verdict.clone(), evidence: reason, actor: name }
        }
        Act::Cancel => Input::Cancel { actor: name, reason },
        Act::Redeliver { may_act_twice } => {
            Input::Redeliver { may_act_twice: *may_act_twice, expires_at }
        }
    }
}
