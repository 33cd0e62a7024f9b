//! The sequences of the schema: what they draw next must be new.
//!
//! Guarantees: names each that is behind the numbers of its table, as after logical replication,
//! which copies no sequence. Does not: draw a number.

use super::super::check::Check;
use super::{Look, at};
use crate::exit::Failure;

/// Looks at the sequences.
pub(super) async fn checks(look: &Look<'_>) -> Result<Vec<Check>, Failure> {
    let failed = |error: tokio_postgres::Error| look.failed(&error);
    let rows = look.rows(include_str!("../sql/postgres/numbers.sql"), &[]).await?;
    let (mut behind, mut unseen) = (Vec::new(), 0);
    for row in &rows {
        let name: String = at(row, 0).map_err(failed)?;
        let last: Option<i64> = at(row, 1).map_err(failed)?;
        let stands: i64 = at(row, 2).map_err(failed)?;
        match last {
            Some(last) if last < stands => behind.push(found(&name, last, stands)),
            Some(_) => {}
            None => unseen += 1,
        }
    }
    if behind.is_empty() && unseen == 0 {
        let text = format!("{} sequences are past what stands", rows.len());
        return Ok(vec![Check::well("number", text)]);
    }
    if unseen > 0 {
        let text = format!("{unseen} sequences are not seen by this user");
        behind.push(Check::note("number", text));
    }
    Ok(behind)
}

fn found(name: &str, last: i64, stands: i64) -> Check {
    let text = format!(
        "{name} has drawn {last}, and {stands} stands: a new row takes a number that another one \
         has, and is refused"
    );
    let help = format!("let the owner run SELECT setval('{name}', {stands})");
    Check::wrong("number", text, help)
}
