//! Simulated days of relays and runners, optimised, on every core.
//!
//! Guarantees: fails if a seed breaks a rule; `docs/simulator.md` says which rules there are.
//! Does not: read the words after it; the example of the facade does.

use anyhow::Result;

use crate::stage::Stage;

/// Runs the simulator.
///
/// # Errors
/// A rule broke, or a word is unknown; the simulator has said so.
pub(crate) fn run(words: &[String]) -> Result<()> {
    let words = words.iter().map(String::as_str);
    let run = ["run", "--release", "--quiet", "-p", "counterfoil", "--features", "testing"];
    let example = ["--example", "simulate", "--"];
    let args: Vec<&str> = run.into_iter().chain(example).chain(words).collect();
    Stage::cargo("simulate", &args).run()
}
