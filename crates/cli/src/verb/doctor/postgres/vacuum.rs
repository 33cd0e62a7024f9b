//! Whether dead rows go away: vacuum, and what holds it back.
//!
//! Guarantees: names the transaction, prepared transaction or slot that holds back most. Does not:
//! end any of them.

use counterfoil_core::domain::{Micros, Span};

use super::super::check::Check;
use super::{Look, at};
use crate::exit::Failure;
use crate::output::time;

/// So many dead rows of delivery are usual between two vacuums of a busy store.
const DEAD_MAX: i64 = 50_000;
/// A transaction this old is worth a word.
const AGE_NOTE: Span = Span::from_secs(300);
/// And one this old has slowed every claim.
const AGE_MAX: Span = Span::from_secs(3600);

/// Looks at vacuum and what holds it back.
pub(super) async fn checks(look: &Look<'_>, is_on: bool) -> Result<Vec<Check>, Failure> {
    let failed = |error: tokio_postgres::Error| look.failed(&error);
    let mut checks = Vec::new();
    let rows = look.rows(include_str!("../sql/postgres/vacuum.sql"), &[look.schema()]).await?;
    for row in &rows {
        let last: Option<i64> = at(row, 2).map_err(failed)?;
        let (live, dead) = (at(row, 0).map_err(failed)?, at(row, 1).map_err(failed)?);
        let off = !is_on || at(row, 3).map_err(failed)?;
        checks.push(bloat(live, dead, last.map(Micros::new), off));
    }
    let rows = look.rows(include_str!("../sql/postgres/oldest.sql"), &[]).await?;
    let mut oldest = Vec::new();
    for row in &rows {
        let (pid, age): (i32, i64) = (at(row, 0).map_err(failed)?, at(row, 1).map_err(failed)?);
        let (name, state): (String, String) =
            (at(row, 2).map_err(failed)?, at(row, 3).map_err(failed)?);
        oldest.push(transaction(pid, Span::from_micros(age.max(0)), &name, &state));
    }
    if oldest.is_empty() {
        oldest.push(Check::well("oldest", "no open transaction holds vacuum back"));
    }
    checks.extend(oldest);
    for row in &look.rows(include_str!("../sql/postgres/prepared.sql"), &[]).await? {
        let (gid, age): (String, i64) = (at(row, 0).map_err(failed)?, at(row, 1).map_err(failed)?);
        let count = at(row, 2).map_err(failed)?;
        checks.push(prepared(&gid, Span::from_micros(age.max(0)), count));
    }
    for row in &look.rows(include_str!("../sql/postgres/slots.sql"), &[]).await? {
        let name: String = at(row, 0).map_err(failed)?;
        checks.push(slot(&name, at(row, 1).map_err(failed)?, at(row, 2).map_err(failed)?));
    }
    Ok(checks)
}

fn bloat(live: i64, dead: i64, last: Option<Micros>, is_off: bool) -> Check {
    let last = last.map_or_else(|| "never".to_owned(), time::show);
    let seen = format!("delivery has {live} live and {dead} dead rows; vacuumed last: {last}");
    if is_off {
        let text = format!("{seen}; autovacuum is off, so claims grow slower with every command");
        return Check::wrong("vacuum", text, "set autovacuum on, for the server and the table");
    }
    if dead > DEAD_MAX && dead > live {
        return Check::wrong(
            "vacuum",
            format!("{seen}: claims walk past the dead ones"),
            "end what holds vacuum back (`oldest`, `prepared`, `slot`); if nothing does: VACUUM \
             the table delivery, and look whether autovacuum's workers keep up",
        );
    }
    Check::well("vacuum", seen)
}

fn transaction(pid: i32, age: Span, name: &str, state: &str) -> Check {
    let seen = format!(
        "the oldest transaction that holds vacuum back is {} old: pid {pid}, {name}, {state}",
        time::about(age)
    );
    let help = format!("end it, or the program behind it: SELECT pg_terminate_backend({pid})");
    if age >= AGE_MAX {
        Check::wrong("oldest", seen, help)
    } else if age >= AGE_NOTE {
        Check::note("oldest", seen).help(help)
    } else {
        Check::well("oldest", seen)
    }
}

fn prepared(gid: &str, age: Span, count: i64) -> Check {
    let more = if count > 1 { format!("; there are {count}") } else { String::new() };
    let seen = format!("prepared transaction {gid} is {} old{more}", time::about(age));
    if age < AGE_NOTE {
        return Check::note("prepared", seen);
    }
    let help = "it holds its locks and vacuum back until its manager ends it: COMMIT PREPARED or \
                ROLLBACK PREPARED, as the other side has it";
    Check::wrong("prepared", seen, help)
}

fn slot(name: &str, is_active: bool, behind: i64) -> Check {
    let seen = format!("slot {name} holds vacuum back by {behind} transactions");
    if is_active {
        let help = "its standby sends hot_standby_feedback: look for long queries there";
        return Check::note("slot", seen).help(help);
    }
    let help = format!(
        "nobody uses it: bring its standby back, or SELECT pg_drop_replication_slot('{name}')"
    );
    Check::wrong("slot", format!("{seen}, and nobody reads it"), help)
}

#[cfg(test)]
mod tests {
    use super::super::super::check::Verdict;
    use super::*;

    #[test]
    fn dead_rows_are_wrong_where_they_outnumber_the_living() {
        assert_eq!(bloat(10, 40_000, None, false).verdict, Verdict::Well, "between two vacuums");
        assert_eq!(bloat(900_000, 60_000, None, false).verdict, Verdict::Well);
        assert_eq!(bloat(10, 60_000, None, false).verdict, Verdict::Wrong);
        assert_eq!(bloat(10, 0, None, true).verdict, Verdict::Wrong, "autovacuum is off");
    }

    #[test]
    fn what_holds_vacuum_back_is_judged_by_its_age() {
        let aged = |secs: i64| transaction(7, Span::from_secs(secs), "shop", "idle in transaction");
        assert_eq!(aged(10).verdict, Verdict::Well);
        assert_eq!(aged(301).verdict, Verdict::Note);
        let old = aged(3601);
        assert_eq!(old.verdict, Verdict::Wrong);
        assert!(old.text.contains("pid 7, shop, idle in transaction"), "{}", old.text);
        assert_eq!(prepared("x", Span::from_secs(1), 1).verdict, Verdict::Note);
        assert_eq!(prepared("x", Span::from_secs(301), 2).verdict, Verdict::Wrong);
        assert_eq!(slot("s", true, 5).verdict, Verdict::Note);
        assert_eq!(slot("s", false, 5).verdict, Verdict::Wrong);
    }
}
