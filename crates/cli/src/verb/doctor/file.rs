//! The store's file: its library, settings, schema, name and clock.
//!
//! Guarantees: settings are read back from a connection as a store opens it. Does not: check the
//! rows; `audit` does.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use counterfoil_core::domain::{Micros, Span};

use super::Look;
use super::check::Check;
use crate::exit::Failure;
use crate::output::time;

/// The store clock may be ahead of the machine's by so much: small steps back are usual.
const AHEAD_MAX: Span = Span::from_secs(5);

/// The SQLite that this program is built with.
pub(super) fn library() -> Check {
    let number = rusqlite::version_number();
    match counterfoil_sqlite::check_library(number) {
        Ok(()) => Check::well("library", format!("SQLite {}", rusqlite::version())),
        Err(error) => {
            let help = "use a build with a newer SQLite, as the bundled one has";
            Check::wrong("library", error.to_string(), help)
        }
    }
}

/// The file itself; `source` is the configuration's, `stored` the store's.
pub(super) fn checks(
    look: &Look<'_>,
    source: &Option<String>,
    stored: &Arc<str>,
) -> Result<Vec<Check>, Failure> {
    let (path, version) = (look.path.display(), look.version);
    let opens = Check::well("store", format!("{path} opens; its schema has version {version}"));
    Ok(vec![opens, durability(look)?, named(source.as_deref(), stored), clock(look, machine())?])
}

fn durability(look: &Look<'_>) -> Result<Check, Failure> {
    let text = |pragma| look.connection.pragma_query_value(None, pragma, |row| row.get(0));
    let number = |pragma| look.connection.pragma_query_value(None, pragma, |row| row.get(0));
    let mode: String = text("journal_mode").map_err(|error| look.failed(&error))?;
    let synchronous: i64 = number("synchronous").map_err(|error| look.failed(&error))?;
    let name = ["off", "normal", "full", "extra"];
    let at = usize::try_from(synchronous).unwrap_or(usize::MAX);
    let seen =
        format!("journal_mode {mode}, synchronous {}", name.get(at).copied().unwrap_or("unknown"));
    Ok(if mode == "wal" && synchronous >= 2 {
        Check::well("durability", seen)
    } else {
        let help = "keep the store on a local disk, with a standard build of SQLite";
        Check::wrong("durability", format!("{seen}: a commit could be lost"), help)
    })
}

/// The store's name to receivers, compared with the configuration's.
pub(super) fn named(source: Option<&str>, stored: &str) -> Check {
    match source {
        None => {
            Check::well("source", format!("{stored}; the configuration leaves it to the store"))
        }
        Some(source) if source == stored => Check::well("source", stored),
        Some(source) => Check::wrong(
            "source",
            format!("the store is {stored}, the configuration says {source}"),
            "a store keeps its source for ever: write its own into [store] source, or name the \
             right store",
        ),
    }
}

fn clock(look: &Look<'_>, machine: Micros) -> Result<Check, Failure> {
    let saved = look.connection.query_row(include_str!("sql/clock.sql"), [], |row| row.get(0));
    let saved = Micros::new(saved.map_err(|error| look.failed(&error))?);
    Ok(judge(saved, machine))
}

fn judge(saved: Micros, machine: Micros) -> Check {
    if saved.get() == 0 {
        return Check::well("clock", "no relay has claimed here yet, so none is saved");
    }
    let ahead = saved.since(machine);
    if ahead <= AHEAD_MAX {
        return Check::well("clock", format!("last saved at {}", time::show(saved)));
    }
    Check::wrong(
        "clock",
        format!(
            "the store's clock, {}, is {} ahead of this machine's: one of the two was wrong, and \
             times do not go back",
            time::show(saved),
            time::about(ahead)
        ),
        "set this machine's clock right; if it is right, then the store goes on from its own time \
         until the machine has caught up: due times and leases run as usual, and what is recorded \
         looks too young",
    )
}

fn machine() -> Micros {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Micros::new(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::super::check::Verdict;
    use super::*;

    #[test]
    fn a_clock_is_wrong_only_if_it_is_ahead() {
        let now = Micros::new(1_764_421_200_000_000);
        assert_eq!(judge(Micros::new(0), now).verdict, Verdict::Well);
        assert_eq!(judge(now, now).verdict, Verdict::Well);
        assert_eq!(judge(now.plus(Span::from_secs(5)), now).verdict, Verdict::Well);
        let wrong = judge(now.plus(Span::from_secs(3600)), now);
        assert_eq!(wrong.verdict, Verdict::Wrong);
        assert!(wrong.text.contains("1 h 0 min ahead"), "{}", wrong.text);
    }

    #[test]
    fn a_source_is_compared_where_it_is_given() {
        assert_eq!(named(None, "urn:a").verdict, Verdict::Well);
        assert_eq!(named(Some("urn:a"), "urn:a").verdict, Verdict::Well);
        assert_eq!(named(Some("urn:b"), "urn:a").verdict, Verdict::Wrong);
    }
}
