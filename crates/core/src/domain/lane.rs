//! Whose turn it is in a lane: the commands of one ordering key at one destination.
//!
//! Guarantees: one command of a lane is in flight at most; among those that wait, the one that was
//! committed first goes first. Does not: know the rows; a store finds them by its indexes, and its
//! suite holds it to these rules.

use super::contract::OnParked;
use super::delivery::{Delivery, State};

/// Where one command of a lane stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The internal key of its outbox row.
    pub n: i64,
    /// Its place in the lane, in commit order from 1.
    pub key_seq: i64,
    /// How far it is.
    pub state: State,
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// One is in flight: sending, asking or published.
    InFlight(i64),
    /// A parked one blocks the lane (`on_parked = "block"`).
    Parked(i64),
    /// The next to be claimed; those behind it are blocked.
    Next(i64),
    /// Nobody waits.
    Nobody,
}

/// Whether a command of a lane is in flight in this state.
#[must_use]
pub const fn is_in_flight(state: State) -> bool {
    matches!(state, State::Sending | State::Asking | State::Published)
}

/// Whose turn it is among the open commands of one lane, in any order.
#[must_use]
pub fn turn(open: &[Standing], on_parked: OnParked) -> Turn {
    if let Some(one) = open.iter().find(|one| is_in_flight(one.state)) {
        return Turn::InFlight(one.n);
    }
    let waits = |one: &&Standing| one.state == State::Pending || on_parked == OnParked::Block;
    match open.iter().filter(waits).min_by_key(|one| one.key_seq) {
        Some(first) if first.state == State::Pending => Turn::Next(first.n),
        Some(first) => Turn::Parked(first.n),
        None => Turn::Nobody,
    }
}

/// Whether a command waits for its turn, outside of what a claim looks at.
#[must_use]
pub fn is_blocked(open: &Delivery) -> bool {
    open.state == State::Pending && open.available_at.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(states: &[State]) -> Vec<Standing> {
        let standing = |(n, state): (i64, &State)| Standing { n, key_seq: n, state: *state };
        (1..).zip(states).map(standing).collect()
    }

    #[test]
    fn one_at_a_time_in_commit_order() {
        use State::{Asking, Dead, Pending, Published, Sending, Uncertain};
        for in_flight in [Sending, Asking, Published] {
            let lane = lane(&[Pending, in_flight, Pending]);
            assert_eq!(turn(&lane, OnParked::Block), Turn::InFlight(2));
        }
        let waiting = lane(&[Pending, Pending]);
        assert_eq!(turn(&waiting, OnParked::Block), Turn::Next(1));
        let parked = lane(&[Dead, Uncertain, Pending]);
        assert_eq!(turn(&parked, OnParked::Block), Turn::Parked(1));
        assert_eq!(turn(&parked, OnParked::Skip), Turn::Next(3));
        assert_eq!(turn(&lane(&[Dead]), OnParked::Skip), Turn::Nobody);
        assert_eq!(turn(&[], OnParked::Block), Turn::Nobody);
    }

    #[test]
    fn a_retried_one_goes_next() {
        let lane = lane(&[State::Pending, State::Pending, State::Dead]);
        assert_eq!(turn(&lane, OnParked::Skip), Turn::Next(1));
    }
}
