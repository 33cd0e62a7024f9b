//! Whether the schema that stands is whole, for who is about to call a store ready.
//!
//! Guarantees: tables, columns, indexes and guards are compared with those that this program would
//! create; a trigger of somebody else is left to `doctor`. Does not: mend.

use super::check::{Check, Verdict};
use super::{Look, postgres, table, trigger};
use crate::config::store_url::StoreUrl;
use crate::exit::Failure;
use crate::output::counted;

/// Refuses a store of which something is missing.
///
/// # Errors
/// What is missing first, how much more is, and the way out.
pub(crate) async fn must_be_whole(url: &StoreUrl) -> Result<(), Failure> {
    let checks = match url {
        StoreUrl::Sqlite(path) => {
            let look = Look::new(path)?;
            [table::checks(&look)?, trigger::guards(&look)?].concat()
        }
        StoreUrl::Postgres(url) => postgres::schema_of(url).await?,
    };
    let wrong: Vec<Check> =
        checks.into_iter().filter(|check| check.verdict == Verdict::Wrong).collect();
    let Some(first) = wrong.first() else { return Ok(()) };
    let more = match wrong.len() - 1 {
        0 => String::new(),
        more => format!(", and {} more", counted(more as u64, "thing")),
    };
    let scheme = if matches!(url, StoreUrl::Sqlite(_)) { "sqlite:" } else { "" };
    let text = format!("{scheme}{url} is not whole: {}{more}", first.text);
    let doctor = "`counterfoil doctor` names everything that is wrong";
    Err(Failure::could_not_run(text).help(&first.help).help(doctor))
}
