//! Whether lanes keep their order, looked at from outside: by states, first bytes and arrivals.
//!
//! Guarantees: the rules are those of `docs/lanes.md`, written anew, so that an error in
//! `domain::lane` shows. Does not: judge a frozen sender, whom no sender can stop.

use std::collections::BTreeMap;

use counterfoil_core::domain::contract::OnParked;
use counterfoil_core::domain::{Delivery, State};

use super::{Broken, Coverage};

/// A lane: the place of its destination, and its key.
pub(super) type Lane = (usize, usize);

/// One open command of a lane, as it was before a write and is after it.
pub(super) struct Member<'a> {
    pub(super) id: &'a str,
    pub(super) before: Option<&'a Delivery>,
    pub(super) after: &'a Delivery,
}

impl Member<'_> {
    fn flies(&self) -> bool {
        is_in_flight(self.after.state)
    }

    fn has_turn(&self) -> bool {
        self.after.state == State::Pending && self.after.available_at.is_some()
    }

    /// It was waiting, and was claimed by the write.
    fn begins(&self) -> bool {
        let was_flying = self.before.is_some_and(|before| is_in_flight(before.state));
        let was_newer = self.before.is_none_or(|before| before.token != self.after.token);
        self.flies() && was_newer && !was_flying
    }
}

pub(super) const fn is_in_flight(state: State) -> bool {
    matches!(state, State::Sending | State::Asking | State::Published)
}

/// Whether a pending command may wait for others for ever: a parked one of its lane blocks it.
pub(super) fn is_blocked_by_parked(
    on_parked: OnParked,
    one: &Delivery,
    lane: &[&Delivery],
) -> bool {
    let waits = one.state == State::Pending && one.available_at.is_none();
    let busy = lane.iter().any(|other| {
        is_in_flight(other.state) || (other.state == State::Pending && other.available_at.is_some())
    });
    let head = lane.iter().min_by_key(|other| other.key_seq);
    on_parked == OnParked::Block
        && waits
        && !busy
        && head.is_some_and(|head| head.state.is_parked())
}

/// Judges a lane after a write.
pub(super) fn judge_lane(on_parked: OnParked, members: &[Member<'_>]) -> Result<(), Broken> {
    let flying: Vec<&str> = members.iter().filter(|it| it.flies()).map(|it| it.id).collect();
    let turns: Vec<&str> = members.iter().filter(|it| it.has_turn()).map(|it| it.id).collect();
    if flying.len() > 1 {
        let what = format!("{} are in flight", flying.join(" and "));
        return Err(Broken::new("one command of a lane is in flight at most", what));
    }
    if turns.len() + flying.len() > 1 {
        let what = format!("{turns:?} have the turn, {flying:?} are in flight");
        return Err(Broken::new("one command of a lane has the turn at most", what));
    }
    for one in members.iter().filter(|it| it.has_turn() || it.begins()) {
        let first = members.iter().find(|other| {
            let waits = other.after.state == State::Pending;
            let blocks = other.after.state.is_parked() && on_parked == OnParked::Block;
            other.after.key_seq < one.after.key_seq && (waits || blocks)
        });
        if let Some(first) = first {
            let what = format!("{} goes before {}, {}", one.id, first.id, first.after.state.name());
            return Err(Broken::new("a lane goes in commit order", what));
        }
    }
    Ok(())
}

/// Counts what a lane came to.
pub(super) fn count(on_parked: OnParked, members: &[Member<'_>], coverage: &mut Coverage) {
    let waits = |it: &&Member<'_>| it.after.state == State::Pending && !it.has_turn();
    let waiting = members.iter().filter(waits).count();
    let head = members.iter().min_by_key(|it| it.after.key_seq);
    let parked = head.filter(|head| head.after.state.is_parked());
    let goes_on = members.iter().any(|it| it.flies() || it.has_turn());
    if waiting > 0 {
        coverage.count("lanes where one waits for another");
    }
    match (on_parked, parked) {
        (OnParked::Block, Some(_)) if waiting > 0 => {
            coverage.count("lanes that a parked head blocks");
        }
        (OnParked::Skip, Some(_)) if goes_on => coverage.count("lanes that pass a parked head"),
        _ => {}
    }
    let first = |it: &&Member<'_>| it.after.round > 1 && it.has_turn();
    if waiting > 0 && members.iter().any(|it| first(&it)) {
        coverage.count("lanes where a retried or redelivered one goes next");
    }
}

/// What has arrived at the receivers, by lane.
#[derive(Debug, Default)]
pub(super) struct Arrivals(BTreeMap<Lane, BTreeMap<i64, String>>);

impl Arrivals {
    /// A command arrives; those of a later place that were here before it.
    pub(super) fn arrive(&mut self, lane: Lane, place: i64, id: &str) -> Vec<String> {
        let here = self.0.entry(lane).or_default();
        here.entry(place).or_insert_with(|| id.to_owned());
        here.range(place + 1..).map(|(_, later)| later.clone()).collect()
    }
}
