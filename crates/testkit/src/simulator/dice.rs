//! Where every choice of a run comes from: one number.
//!
//! Guarantees: the same seed gives the same draws on every machine. Does not: serve as a source of
//! secrets.

/// SplitMix64 (Steele et al. 2014).
#[derive(Clone, Debug)]
pub(super) struct Dice(u64);

impl Dice {
    /// The dice of one seed; `purpose` keeps the draws of two users apart.
    pub(super) fn new(seed: u64, purpose: u64) -> Self {
        let mut dice = Self(seed ^ purpose.wrapping_mul(0xd6e8_feb8_6659_fd93));
        dice.roll();
        dice
    }

    /// Any number.
    pub(super) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `low` to `high`, both included.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.roll() % (high.max(low) - low + 1)
    }

    /// Whether it comes up, in so many of a thousand.
    pub(super) fn chance(&mut self, permille: u64) -> bool {
        self.roll() % 1000 < permille
    }

    /// A place in a list of `count`.
    pub(super) fn place(&mut self, count: usize) -> usize {
        usize::try_from(self.roll() % count.max(1) as u64).unwrap_or(0)
    }

    /// Mostly short, at times as long as `longest`.
    pub(super) fn delay(&mut self, longest: u64) -> u64 {
        match self.roll() % 8 {
            0 => self.between(0, longest),
            1 => self.between(0, longest / 4),
            _ => self.between(0, (longest / 40).max(1)),
        }
    }
}
