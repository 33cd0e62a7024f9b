//! How often something happened in the last minute.
//!
//! Guarantees: bounded, and pure: the time comes in as a value. Does not: keep more than a minute.

/// How many seconds are looked back on.
const SECONDS: u64 = 60;

/// What happened in each of the last seconds.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    slots: [u32; SECONDS as usize],
    /// The second of the newest slot.
    newest: u64,
}

impl Default for Window {
    fn default() -> Self {
        Self { slots: [0; SECONDS as usize], newest: 0 }
    }
}

impl Window {
    /// It happened in this second, counted from a start.
    pub(crate) fn add(&mut self, second: u64) {
        self.forget(second);
        // A clock that stepped back counts for the newest second.
        let slot = &mut self.slots[(self.newest % SECONDS) as usize];
        *slot = slot.saturating_add(1);
    }

    /// How often a second it happened, up to this second; what began less than a minute ago is
    /// averaged over its own time.
    pub(crate) fn per_second(&mut self, second: u64) -> f64 {
        self.forget(second);
        let sum: u64 = self.slots.iter().map(|count| u64::from(*count)).sum();
        let seconds = (second + 1).clamp(1, SECONDS);
        // Exact far beyond any count of a minute.
        #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
        let (sum, seconds) = (sum as f64, seconds as f64);
        sum / seconds
    }

    fn forget(&mut self, second: u64) {
        if second <= self.newest {
            return;
        }
        for passed in (self.newest + 1..=second).rev().take(SECONDS as usize) {
            self.slots[(passed % SECONDS) as usize] = 0;
        }
        self.newest = second;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(window: &mut Window, second: u64, rate: f64) {
        let found = window.per_second(second);
        assert!((found - rate).abs() < 1e-9, "{found} is not {rate}");
    }

    #[test]
    fn it_looks_back_a_minute() {
        let mut window = Window::default();
        is(&mut window, 0, 0.0);
        for _ in 0..30 {
            window.add(0);
        }
        is(&mut window, 0, 30.0);
        is(&mut window, 9, 3.0);
        window.add(59);
        is(&mut window, 59, 31.0 / 60.0);
        is(&mut window, 60, 1.0 / 60.0);
        is(&mut window, 118, 1.0 / 60.0);
        is(&mut window, 119, 0.0);
        window.add(1_000_000);
        is(&mut window, 1_000_000, 1.0 / 60.0);
        window.add(999_999);
        is(&mut window, 1_000_000, 2.0 / 60.0);
    }
}
