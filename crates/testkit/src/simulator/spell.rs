//! Spans of time in which a receiver does not work as a whole: what breakers are for.
//!
//! Guarantees: nothing of what is sent in a spell acts, unless the receiver is merely slow; each
//! spell ends when the world becomes healthy. Does not: strike single requests; see `network`.

use counterfoil_core::domain::{Outcome, Span};

use super::dice::Dice;
use super::world::World;

/// What is wrong with a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// Nobody listens.
    Down,
    /// It takes longer than anybody waits.
    Slow,
    /// Its address is set up wrongly.
    Misconfigured,
    /// It fails before it does anything, and says so in a way that proves nothing.
    Failing,
    /// It has too much to do.
    Busy,
}

const WRONGS: [Wrong; 5] =
    [Wrong::Down, Wrong::Slow, Wrong::Misconfigured, Wrong::Failing, Wrong::Busy];

/// One span of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spell {
    pub(super) site: usize,
    pub(super) wrong: Wrong,
    pub(super) from_ms: u64,
    pub(super) until_ms: u64,
}

impl Spell {
    pub(super) fn draw_all(dice: &mut Dice, sites: usize, heal_ms: u64) -> Vec<Self> {
        if !dice.chance(450) {
            return Vec::new();
        }
        let one = |dice: &mut Dice| {
            let from_ms = dice.between(0, heal_ms * 8 / 10);
            let until_ms = from_ms + dice.between(3_000, 90_000);
            let wrong = WRONGS[dice.place(WRONGS.len())];
            Self { site: dice.place(sites), wrong, from_ms, until_ms: until_ms.min(heal_ms) }
        };
        (0..dice.between(1, 3)).map(|_| one(dice)).collect()
    }
}

impl World<'_> {
    /// What is wrong with a receiver now.
    pub(super) fn spell(&self, place: usize) -> Option<Wrong> {
        let now = self.now_ms;
        let mut spells = self.plan.spells.iter().filter(|it| it.site == place);
        let spell = spells.find(|it| it.from_ms <= now && now < it.until_ms);
        spell.filter(|_| !self.is_healthy()).map(|spell| spell.wrong)
    }

    /// What a receiver in a spell says to what is sent to it; `None`: it does not fail by itself.
    pub(super) fn spelled(&mut self, place: usize) -> Option<Outcome> {
        let (class, outcome) = match self.spell(place)? {
            Wrong::Slow => return None,
            Wrong::Down => ("sends in a spell: down", Outcome::not_sent("connection refused")),
            Wrong::Misconfigured => {
                let reason = "HTTP 404".into();
                let outcome = Outcome::NotSent { reason, retry_after: None, misconfigured: true };
                ("sends in a spell: misconfigured", outcome)
            }
            Wrong::Failing => ("sends in a spell: failing", Outcome::unknown("HTTP 500")),
            Wrong::Busy => {
                let retry_after = Some(Span::from_secs(1));
                let outcome = Outcome::Busy { reason: "HTTP 429".into(), retry_after };
                ("sends in a spell: busy", outcome)
            }
        };
        self.coverage.count(class);
        Some(outcome)
    }
}
