//! Pages of commands that may be archived by their age.
//!
//! Guarantees: a page looks at a bounded number of rows and holds a bounded number of bytes, but
//! for a single command that is larger; what stays is counted by why. Does not: know of files.

use counterfoil_core::domain::Micros;
use counterfoil_core::port::archive::EndedPage;

use super::entry;
use crate::failure::Failure;
use crate::row::{flag, int};
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const LOOK: Statement = statement!("archive_look");

/// So many rows are looked at for each that a page may hold.
const LOOKS: usize = 4;
/// So many at least, so that a small page finds something among what is open.
const LOOKS_MIN: usize = 256;
/// Bodies and results of one page have so many bytes.
const BYTES_MAX: i64 = 32 << 20;

/// The commands with `n` > `after` that ended before `before` and may go, at most `limit`.
pub(super) async fn page(
    tx: &Tx<'_>,
    before: Micros,
    after: i64,
    limit: usize,
) -> Result<EndedPage, Failure> {
    let limit = limit.max(1);
    let looks = i64::try_from(limit.saturating_mul(LOOKS).max(LOOKS_MIN)).unwrap_or(i64::MAX);
    let rows = tx.query(LOOK, &[&after, &looks, &before.get()]).await?;
    let mut page = EndedPage { looked_at: after, ..EndedPage::default() };
    let (mut numbers, mut bytes, mut looked) = (Vec::new(), 0_i64, 0);
    for row in &rows {
        let n = int(row, 0).unwrap_or(0);
        if flag(row, 1) && !flag(row, 3) && !flag(row, 4) {
            bytes = bytes.saturating_add(int(row, 2).unwrap_or(0));
            if numbers.len() == limit || (bytes > BYTES_MAX && !numbers.is_empty()) {
                break;
            }
            numbers.push(n);
        }
        page.kept.of_workflow += u64::from(flag(row, 3));
        page.kept.contradicted += u64::from(flag(row, 4) && !flag(row, 3));
        page.looked_at = n;
        looked += 1;
    }
    page.last = looked == rows.len() && i64::try_from(looked).is_ok_and(|looked| looked < looks);
    page.entries = entry::of(tx, &numbers).await?;
    page.kept.unreadable = (numbers.len() - page.entries.len()) as u64;
    Ok(page)
}
