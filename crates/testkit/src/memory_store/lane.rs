//! Lanes in memory: after each change of one of its commands, a lane's turn is given anew.
//!
//! Guarantees: whose turn it is follows from `domain::lane` alone. Does not: find lanes by an
//! index; every open delivery is looked at.

use counterfoil_core::domain::contract::OnParked;
use counterfoil_core::domain::lane::{self, Standing, Turn};
use counterfoil_core::domain::laws::LaneFacts;
use counterfoil_core::domain::{Delivery, Micros, State};
use counterfoil_core::port::act::LaneStatus;
use counterfoil_core::port::read::{AHEAD_MAX, BLOCKED_MAX, LanePlace};

use super::rows::{OutboxEntry, Rows};
use super::story::state_name;

/// A lane, by destination and ordering key.
type Lane = (String, String);

impl Rows {
    /// The lane of a command, if it has an ordering key.
    pub(super) fn lane_of(&self, n: i64) -> Option<Lane> {
        let row = self.outbox.get(&n)?.row.as_ref().ok()?;
        let key = row.ordering_key.as_ref()?;
        Some((row.destination.to_string(), key.to_string()))
    }

    /// Draws the next place of a lane.
    pub(super) fn draw_place(&mut self, lane: Lane) -> i64 {
        let last = self.lanes.entry(lane).or_default();
        *last += 1;
        *last
    }

    fn open_in(&self, lane: &Lane) -> Vec<i64> {
        let open = self.deliveries.keys().copied();
        open.filter(|n| self.lane_of(*n).as_ref() == Some(lane)).collect()
    }

    fn whose_turn(&self, lane: &Lane) -> Turn {
        let standing = |n: i64| {
            let delivery = &self.deliveries.get(&n)?.delivery;
            let key_seq = delivery.key_seq.unwrap_or(0);
            Some(Standing { n, key_seq, state: delivery.state })
        };
        let standings: Vec<_> = self.open_in(lane).into_iter().filter_map(standing).collect();
        let stored = self.destinations.get(&lane.0).and_then(|entry| entry.contract.as_ref());
        let on_parked = stored.map_or(OnParked::Block, |contract| contract.on_parked);
        lane::turn(&standings, on_parked)
    }

    /// Gives the turn to whom it belongs, and takes it from everybody else who waits.
    pub(super) fn give_turn(&mut self, lane: &Lane, now: Micros) -> bool {
        let next = match self.whose_turn(lane) {
            Turn::Next(n) => Some(n),
            Turn::InFlight(_) | Turn::Parked(_) | Turn::Nobody => None,
        };
        let mut changed = false;
        for n in self.open_in(lane) {
            let not_before = self.outbox.get(&n).and_then(OutboxEntry::not_before);
            let Some(entry) = self.deliveries.get_mut(&n) else { continue };
            let delivery = &mut entry.delivery;
            if delivery.state != State::Pending {
                continue;
            }
            let due = (Some(n) == next).then(|| {
                delivery.available_at.unwrap_or_else(|| not_before.map_or(now, |at| at.max(now)))
            });
            changed |= delivery.available_at != due;
            delivery.available_at = due;
        }
        changed
    }

    /// Who has the turn of a lane, and its state.
    pub(super) fn holder(&self, lane: &Lane) -> Option<(i64, State)> {
        let open = self.open_in(lane).into_iter();
        let mut open = open.filter_map(|n| Some((n, &self.deliveries.get(&n)?.delivery)));
        let holder = open.find(|(_, delivery)| delivery.available_at.is_some())?;
        Some((holder.0, holder.1.state))
    }

    /// Whether a parked command blocks the lane.
    pub(super) fn head_is_parked(&self, lane: &Lane) -> bool {
        matches!(self.whose_turn(lane), Turn::Parked(_))
    }

    /// Whether a sweep would give a turn on: nobody has that of some lane, though one waits.
    #[must_use]
    pub fn has_stuck_lane(&self) -> bool {
        self.lanes.keys().any(|lane| match self.whose_turn(lane) {
            Turn::Next(n) => {
                self.deliveries.get(&n).is_some_and(|entry| lane::is_blocked(&entry.delivery))
            }
            Turn::InFlight(_) | Turn::Parked(_) | Turn::Nobody => false,
        })
    }

    /// Gives the turn of every lane that nothing blocks any more; how many.
    pub(super) fn sweep_lanes(&mut self, now: Micros) -> usize {
        let lanes: Vec<Lane> = self.lanes.keys().cloned().collect();
        lanes.iter().filter(|lane| self.give_turn(lane, now)).count()
    }

    /// Lanes where a parked head blocks others, most waiting first.
    pub(super) fn blocked_lanes(&self) -> Vec<LaneStatus> {
        let lanes = self.lanes.keys().filter_map(|lane| {
            let Turn::Parked(head) = self.whose_turn(lane) else { return None };
            let state = self.deliveries.get(&head)?.delivery.state;
            let open = self.open_in(lane);
            let waiting = open.iter().filter(|n| self.waits(**n)).count() as u64;
            let parked_head = Some((self.outbox.get(&head)?.id_text(), state));
            let (destination, ordering_key) = lane.clone();
            let lane = LaneStatus { destination, ordering_key, waiting, parked_head };
            (waiting > 0).then_some((head, lane))
        });
        let mut lanes: Vec<_> = lanes.collect();
        lanes.sort_by_key(|(head, lane)| (std::cmp::Reverse(lane.waiting), *head));
        lanes.truncate(BLOCKED_MAX);
        lanes.into_iter().map(|(_, lane)| lane).collect()
    }

    fn waits(&self, n: i64) -> bool {
        self.deliveries.get(&n).is_some_and(|entry| entry.delivery.state == State::Pending)
    }

    /// Where an open command stands in its lane.
    pub(super) fn lane_place(&self, n: i64) -> Option<LanePlace> {
        let lane = self.lane_of(n)?;
        let seq = |n: i64| self.deliveries.get(&n)?.delivery.key_seq;
        let place = seq(n)?;
        let mut open: Vec<_> =
            self.open_in(&lane).into_iter().filter_map(|n| Some((seq(n)?, n))).collect();
        open.sort_unstable();
        let named =
            |n: i64| Some((self.outbox.get(&n)?.id_text(), state_name(self.deliveries.get(&n)?)));
        let before = open.iter().filter(|(seq, _)| *seq < place);
        let has_turn = |n: &i64| {
            self.deliveries.get(n).is_some_and(|entry| entry.delivery.available_at.is_some())
        };
        Some(LanePlace {
            ordering_key: lane.1.clone(),
            place,
            ahead: before.clone().count() as u64,
            first: before.take(AHEAD_MAX).filter_map(|(_, n)| named(*n)).collect(),
            turn: open.iter().map(|(_, n)| *n).find(has_turn).and_then(named),
            behind: open.iter().filter(|(seq, n)| *seq > place && self.waits(*n)).count() as u64,
        })
    }

    pub(super) fn lane_facts(&self, after: Option<&Lane>, limit: usize) -> Vec<LaneFacts> {
        let commands = self.outbox.keys().filter_map(|n| self.lane_of(*n));
        let mut names: Vec<Lane> = self.lanes.keys().cloned().chain(commands).collect();
        names.sort_unstable();
        names.dedup();
        let later = names.iter().filter(|lane| after.is_none_or(|after| *lane > after));
        later.take(limit).map(|lane| self.facts_of_lane(lane)).collect()
    }

    fn facts_of_lane(&self, lane: &Lane) -> LaneFacts {
        let of_lane = self.outbox.keys().filter(|n| self.lane_of(**n).as_ref() == Some(lane));
        let of_lane: Vec<i64> = of_lane.copied().collect();
        let place = |n: &i64| match self.deliveries.get(n) {
            Some(entry) => entry.delivery.key_seq,
            None => self.receipts_of(*n).next_back().and_then(|entry| entry.receipt.key_seq),
        };
        let mut places: Vec<i64> = of_lane.iter().filter_map(place).collect();
        places.sort_unstable();
        places.dedup();
        let flying = |n: &&i64| {
            let state = self.deliveries.get(n).map(|entry| entry.delivery.state);
            state.is_some_and(lane::is_in_flight)
        };
        let count = |of: usize| i64::try_from(of).unwrap_or(i64::MAX);
        let archived = self
            .archived
            .values()
            .any(|tomb| tomb.destination == lane.0 && tomb.ordering_key.as_ref() == Some(&lane.1));
        LaneFacts {
            destination: lane.0.clone(),
            ordering_key: lane.1.clone(),
            last: self.lanes.get(lane).copied(),
            places: count(places.len()),
            commands: count(of_lane.len()),
            newest: places.last().copied().unwrap_or(0),
            in_flight: count(of_lane.iter().filter(flying).count()),
            archived,
        }
    }
}

/// The delivery as it may be written: in a lane the turn is given, not taken.
pub(super) fn without_turn(before: Option<&Delivery>, mut next: Delivery) -> Delivery {
    let had_it = before.is_some_and(|before| before.available_at.is_some());
    if next.key_seq.is_some() && !had_it && !lane::is_in_flight(next.state) {
        next.available_at = None;
    }
    next
}
