//! Counts tests from the closing lines of cargo-nextest and of cargo test.
//!
//! Guarantees: each closing line is counted once.
//! Does not: decide whether a run was good; that is the exit code's.

use std::fmt;

/// How many tests ran, and how they ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Tally {
    /// Adds the counts of another run.
    pub(crate) fn add(&mut self, other: &Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    /// Reads one line; only closing lines count.
    pub(crate) fn read_line(&mut self, line: &str) {
        let plain = without_colours(line);
        let plain = plain.trim_start();
        if plain.starts_with("test result: ") || plain.starts_with("Summary [") {
            self.passed += number_before(plain, "passed");
            self.failed += number_before(plain, "failed");
            self.skipped += number_before(plain, "ignored") + number_before(plain, "skipped");
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tests: {} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 { write!(f, ", {} skipped", self.skipped) } else { Ok(()) }
    }
}

fn number_before(line: &str, word: &str) -> u64 {
    let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric()).collect();
    let found = words.windows(2).find(|pair| pair[1] == word);
    found.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut inside = false;
    for c in line.chars() {
        match (inside, c) {
            (false, '\u{1b}') => inside = true,
            (true, 'm') => inside = false,
            (true, _) => {}
            (false, c) => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(line: &str) -> (u64, u64, u64) {
        let mut tally = Tally::default();
        tally.read_line(line);
        (tally.passed, tally.failed, tally.skipped)
    }

    #[test]
    fn closing_lines_of_both_runners_are_counted() {
        let nextest =
            "     Summary [   0.007s] 12 tests run: 11 passed (1 slow), 1 failed, 3 skipped";
        assert_eq!(counted(nextest), (11, 1, 3));
        let cargo =
            "test result: FAILED. 5 passed; 2 failed; 1 ignored; 0 measured; 9 filtered out";
        assert_eq!(counted(cargo), (5, 2, 1));
        let coloured = "\u{1b}[32;1m     Summary\u{1b}[0m [ 1s] \u{1b}[1m2\u{1b}[0m tests run: \
                        \u{1b}[1m2\u{1b}[0m \u{1b}[32;1mpassed\u{1b}[0m, 0 skipped";
        assert_eq!(counted(coloured), (2, 0, 0));
    }

    #[test]
    fn other_lines_count_nothing() {
        assert_eq!(counted("test store::claims_once ... ok"), (0, 0, 0));
        assert_eq!(counted("the audit saw 7 passed"), (0, 0, 0));
    }
}
