//! A program's own word on histories that are piped to it.
//!
//! Guarantees: one line a workflow that does not hold, and a summary; JSON lines where asked. Does
//! not: read a store; `counterfoil workflow verify -- PROGRAM` pipes the histories in.

use std::io::{self, BufRead, Write};

use serde_json::json;

use super::Verified;
use super::history::{HistoryError, verify_lines};
use crate::programs::Programs;

/// Verifies the histories of `input` and tells what came of them to `out`; whether all hold. What a
/// `main` gives back as its exit code.
///
/// # Errors
/// [`HistoryError`].
///
/// # Example
/// ```no_run
/// # fn programs() -> counterfoil_workflow::Programs { counterfoil_workflow::Programs::new() }
/// use std::process::ExitCode;
///
/// use counterfoil_workflow::verify::judge::judge;
///
/// fn main() -> ExitCode {
///     match judge(std::io::stdin().lock(), &mut std::io::stdout(), &programs()) {
///         Ok(true) => ExitCode::SUCCESS,
///         Ok(false) => ExitCode::FAILURE,
///         Err(why) => {
///             eprintln!("{why}");
///             ExitCode::from(2)
///         }
///     }
/// }
/// ```
pub fn judge(
    input: impl BufRead,
    out: &mut impl Write,
    programs: &Programs,
) -> Result<bool, HistoryError> {
    let all = verify_lines(input, programs)?;
    for verified in all.iter().filter(|verified| !verified.holds()) {
        tell(out, verified)?;
    }
    let decisions: u64 = all.iter().map(|verified| verified.decisions).sum();
    let broken = all.iter().filter(|verified| !verified.holds()).count();
    let workflows = all.len();
    writeln!(
        out,
        "{}",
        json!({
            "workflows": workflows, "decisions": decisions, "broken": broken, "holds": broken == 0,
        })
    )?;
    Ok(broken == 0)
}

fn tell(out: &mut impl Write, verified: &Verified) -> io::Result<()> {
    let Verified { workflow, program, mismatch, .. } = verified;
    let (code, text) = match mismatch {
        Some(mismatch) => (mismatch.code(), mismatch.to_string()),
        None => {
            ("CF1210", format!("workflow {workflow}: program {program} is not among those given"))
        }
    };
    writeln!(out, "{}", json!({ "code": code, "ids": [workflow], "text": text }))
}
