//! Simulated days of relays, optimised, on every core.
//!
//! Guarantees: fails if a seed breaks a rule; `docs/simulator.md` says which rules there are.
//! Does not: read the words after it; the example of the relay does.

use anyhow::Result;

use crate::stage::Stage;

/// Runs the simulator.
///
/// # Errors
/// A rule broke, or a word is unknown; the simulator has said so.
pub(crate) fn run(words: &[String]) -> Result<()> {
    let words = words.iter().map(String::as_str);
    let run = ["run", "--release", "--quiet", "-p", "counterfoil-relay", "--example", "simulate"];
    let args: Vec<&str> = run.into_iter().chain(["--"]).chain(words).collect();
    Stage::cargo("simulate", &args).run()
}
