//! `resolve --from`: verdicts from a file of JSON lines.
//!
//! Guarantees: every line is checked before anything is done, and bad ones are named by their
//! numbers; each verdict has its own evidence in the books. Does not: take an id twice.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use counterfoil_core::bulk::BATCH;
use counterfoil_core::domain::transition::Verdict;
use counterfoil_core::port::{Act, Actor, Deed, Store};
use serde::Deserialize;

use super::{REASON_BYTES_MAX, named};
use crate::args::{Selection, Shared};
use crate::exit::{Ended, Exit, Failure};
use crate::verb::actor::actor;
use crate::verb::json_line::unread;
use crate::verb::{Found, block_on};

/// The most bytes of a file: it is held in memory, so that all of it is checked first.
const BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How many bad lines are named.
const NAMED: usize = 20;

/// One line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: String,
    outcome: String,
    evidence: String,
    result: Option<String>,
}

/// A verdict that was checked.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    id: String,
    verdict: Verdict,
    evidence: String,
}

/// Checks the file, and does what it says.
///
/// # Errors
/// The file cannot be read, or a line is bad; then nothing was done.
pub(super) fn run(shared: &Shared, path: &Path, selection: Selection) -> Ended {
    let verdicts = check(read(path)?, &path.display().to_string())?;
    let name = actor(selection.actor)?;
    let store = Found::new(shared)?.open()?;
    let said = named::Said { verb: "resolve", json: selection.json, format: shared.log_format };
    block_on(async {
        let mut exit = Exit::Done;
        // An act has one evidence, so neighbours that share it are one.
        for same in verdicts.chunk_by(|a, b| a.evidence == b.evidence) {
            for some in same.chunks(BATCH) {
                let deed = |one: &Finding| Deed {
                    command_id: one.id.clone(),
                    act: Act::Resolve(one.verdict.clone()),
                    by_filter: false,
                };
                let reason = some.first().map(|one| one.evidence.clone()).unwrap_or_default();
                let actor = Actor { name: name.clone(), reason };
                let acted = store.act(some.iter().map(deed).collect(), actor).await?;
                for (one, acted) in some.iter().zip(&acted) {
                    exit = said.tell(&one.id, acted)?.and(exit);
                }
            }
        }
        Ok(exit)
    })
}

fn read(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    let opened = std::fs::File::open(path).map_err(|error| unreadable(path, &error))?;
    Ok(Box::new(BufReader::new(opened)))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::could_not_run(format!("--from {} cannot be read: {error}", path.display()))
}

/// All verdicts, or all that is wrong with them.
fn check(input: impl BufRead, name: &str) -> Result<Vec<Finding>, Failure> {
    let mut text = String::new();
    let read = input.take(BYTES_MAX + 1).read_to_string(&mut text);
    read.map_err(|error| unreadable(Path::new(name), &error))?;
    if text.len() as u64 > BYTES_MAX {
        let text = format!("--from {name} has more than {BYTES_MAX} bytes");
        return Err(Failure::could_not_run(text).help("split it"));
    }
    let (mut verdicts, mut bad) = (Vec::new(), Vec::new());
    let mut seen = BTreeMap::new();
    let text = text.trim_start_matches('\u{feff}');
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        match parse(line) {
            Err(why) => bad.push(format!("line {number}: {why}")),
            Ok(found) => match seen.insert(found.id.clone(), number) {
                Some(first) => bad.push(format!(
                    "line {number}: {:?} has a verdict in line {first} already",
                    found.id
                )),
                None => verdicts.push(found),
            },
        }
    }
    if bad.is_empty() {
        return Ok(verdicts);
    }
    let text = format!("--from {name}: {} bad lines, so nothing was done", bad.len());
    let more = bad.len().saturating_sub(NAMED);
    let failure = bad.into_iter().take(NAMED).fold(Failure::could_not_run(text), Failure::help);
    Err(if more > 0 { failure.help(format!("and {more} more")) } else { failure })
}

fn parse(line: &str) -> Result<Finding, String> {
    let line: Line = serde_json::from_str(line).map_err(|error| {
        format!("{}: write {{\"id\": …, \"outcome\": …, \"evidence\": …}}", unread(&error))
    })?;
    if line.result.is_some() && line.outcome != "completed" {
        return Err("\"result\" goes with \"outcome\": \"completed\" only".into());
    }
    let verdict = match line.outcome.as_str() {
        "completed" => Verdict::Completed { result: line.result.map(String::into_bytes) },
        "rejected" => Verdict::Rejected,
        "not_done" | "not-done" => Verdict::NotDone,
        other => {
            return Err(format!(
                "\"outcome\" {other:?}: write \"completed\", \"rejected\" or \"not_done\""
            ));
        }
    };
    if line.evidence.trim().is_empty() || line.evidence.len() > REASON_BYTES_MAX {
        return Err("\"evidence\" says by what it is known, in 1 to 65536 bytes".into());
    }
    Ok(Finding { id: line.id, verdict, evidence: line.evidence })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bad_line_is_named() {
        let file = "{\"id\":\"a\",\"outcome\":\"completed\",\"evidence\":\"e\",\"result\":\"1\"}\n\
             \n{\"id\":\"b\"}\n\
             {\"id\":\"c\",\"outcome\":\"done\",\"evidence\":\"x\"}\n\
             {\"id\":\"a\",\"outcome\":\"rejected\",\"evidence\":\"x\"}\n\
             {\"id\":\"d\",\"outcome\":\"rejected\",\"evidence\":\" \"}\n\
             {\"id\":\"e\",\"outcome\":\"not_done\",\"evidence\":\"x\",\"result\":\"1\"}\n\
             {\"id\":\"f\",\"outcome\":\"not_done\",\"evidence\":\"x\",\"why\":\"1\"}\n\
             {\"id\":\"g\",\"outcome\":\"not_done\",\"evidence\":\"x\"}\n";
        let said = check(file.as_bytes(), "f").unwrap_err().whole();
        for word in ["6 bad lines", "nothing was done", "line 3", "line 4", "line 5", "in line 1"] {
            assert!(said.contains(word), "{word}: {said}");
        }
        for word in ["line 6", "line 7", "line 8: unknown field `why`"] {
            assert!(said.contains(word), "{word}: {said}");
        }
        assert!(!said.contains("line 1:") && !said.contains("line 9"), "{said}");
    }

    #[test]
    fn a_byte_order_mark_before_the_first_line_is_no_part_of_it() {
        let file = "\u{feff}{\"id\":\"a\",\"outcome\":\"rejected\",\"evidence\":\"e\"}\r\n";
        assert_eq!(check(file.as_bytes(), "f").unwrap().len(), 1);
    }

    #[test]
    fn a_verdict_is_read_whole() {
        let line = "{\"id\":\"a\",\"outcome\":\"completed\",\"evidence\":\"e\",\"result\":\"r\"}";
        let found = check(line.as_bytes(), "f").unwrap();
        let verdict = Verdict::Completed { result: Some(b"r".to_vec()) };
        assert_eq!(found, [Finding { id: "a".into(), verdict, evidence: "e".into() }]);
    }
}
