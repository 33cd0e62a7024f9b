//! Who is killed when: drawn from the seed before the drill begins.
//!
//! Guarantees: the same seed gives the same plan; every relay, the receiver and the paying process
//! are killed. Does not: fix at which instruction a process dies; that is left to the machine.

use counterfoil_core::domain::Seed;

/// Kills of relays in the plan, at least one each.
const RELAY_KILLS: u32 = 6;
/// Kills of the receiver in the plan.
const RECEIVER_KILLS: u32 = 4;
/// Kills of a paying process between its writes and its commit, in the plan.
const PAYER_KILLS: u32 = 2;

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Victim {
    /// The relay of this place, from 0.
    Relay(usize),
    /// The receiver.
    Receiver,
    /// A paying process.
    Payer,
}

/// One kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Who.
    pub(super) victim: Victim,
    /// After this share of the orders of its step is delivered, in percent.
    pub(super) after_percent: u32,
    /// How long the victim is missed, in milliseconds.
    pub(super) missed_ms: u64,
}

/// The kills of a drill, in order.
pub(super) fn plan(seed: u64, relays: u32) -> Vec<Step> {
    let mut dice = Dice(seed);
    let relay = |n: u32| Victim::Relay((n % relays.max(1)) as usize);
    let mut victims: Vec<_> = (0..RELAY_KILLS.max(relays)).map(relay).collect();
    victims.extend((0..RECEIVER_KILLS).map(|_| Victim::Receiver));
    victims.extend((0..PAYER_KILLS).map(|_| Victim::Payer));
    // Fisher and Yates' shuffle.
    for last in (1..victims.len()).rev() {
        victims.swap(last, dice.below(last as u64 + 1) as usize);
    }
    let step = |victim| Step {
        victim,
        after_percent: 20 + dice.below(61) as u32,
        missed_ms: dice.below(300),
    };
    victims.into_iter().map(step).collect()
}

/// The orders of each step, as first and count, and of a last one without a kill.
pub(super) fn shares(first: u32, count: u32, steps: usize) -> Vec<(u32, u32)> {
    let steps = u32::try_from(steps).unwrap_or(u32::MAX).saturating_add(1);
    let mut next = first;
    (0..steps)
        .map(|step| {
            let share = count / steps + u32::from(step < count % steps);
            let from = next;
            next += share;
            (from, share)
        })
        .collect()
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(1);
        Seed(self.0).mixed() % bound.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_plan_and_everybody_dies() {
        assert_eq!(plan(7, 2), plan(7, 2));
        assert_ne!(plan(7, 2), plan(8, 2));
        for relays in [1, 2, 16] {
            let plan = plan(3, relays);
            let dies = |victim| plan.iter().any(|step| step.victim == victim);
            assert!((0..relays as usize).all(|relay| dies(Victim::Relay(relay))));
            assert!(dies(Victim::Receiver) && dies(Victim::Payer));
        }
    }

    #[test]
    fn shares_cover_every_order_once() {
        for count in [0, 1, 5, 12, 13, 199, 5000] {
            let shares = shares(2, count, 12);
            assert_eq!(shares.len(), 13);
            assert_eq!(shares.iter().map(|(_, share)| share).sum::<u32>(), count);
            let mut next = 2;
            for (from, share) in shares {
                assert_eq!(from, next);
                next += share;
            }
        }
    }
}
