//! The audit: proof from the tables that nothing was lost, invented or done twice.
//!
//! Guarantees: it reads page by page in bounded memory, each page in one short snapshot; every
//! violation has a code of `docs/laws.md`; [`audit()`] writes nothing, [`audit_sealed`] the seal
//! and what it is asked to mend. Does not: look into the files of archives, or prove that a
//! receiver acted; see [`match_inbox`] for the receiver's own book.

mod contradicted;
mod expect;
mod flows;
mod full;
mod inbox;
mod incremental;
pub mod keep;
mod kinds;
mod page;
mod pass;
mod reading;
mod report;
pub mod seal;
mod sealed;
mod theirs;
mod totals;

pub use contradicted::audit_archived;
pub use expect::Expect;
pub use inbox::{BookEntry, InboxBook, InboxMatch, MatchError, Repeated, match_inbox};
pub use pass::{From, Pass, SealFate, WhyFull};
pub use report::{AuditReport, Checked};
pub use sealed::{AuditError, How, audit_sealed};

use crate::domain::laws::{of_command, of_totals};
use crate::port::Store;
use crate::port::read::FactsFrom;
use crate::port::store::StoreError;
use full::{check_events, check_lanes};
use page::Pages;
use report::Findings;

/// The default of `page`.
pub const PAGE: usize = 1000;
/// The default of `keep`.
pub const KEEP: usize = 1000;

/// What an audit checks, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditOptions {
    /// Queries over the user's own tables that say which commands must stand. Default: none.
    pub expect: Vec<Expect>,
    /// How many rows are read at once. Default 1,000; 0 counts as 1.
    pub page: usize,
    /// How many violations are kept in full; all are counted. Default 1,000.
    pub keep: usize,
}

impl Default for AuditOptions {
    fn default() -> Self {
        Self { expect: Vec::new(), page: PAGE, keep: KEEP }
    }
}

impl AuditOptions {
    /// Adds a query of the user's own.
    #[must_use]
    pub fn expect(mut self, expect: Expect) -> Self {
        self.expect.push(expect);
        self
    }

    /// Sets how many rows are read at once.
    #[must_use]
    pub const fn page(mut self, page: usize) -> Self {
        self.page = page;
        self
    }

    /// Sets how many violations are kept in full.
    #[must_use]
    pub const fn keep(mut self, keep: usize) -> Self {
        self.keep = keep;
        self
    }
}

/// Checks every law of one store, and what the user's own queries expect. It reads everything and
/// writes nothing; see [`audit_sealed`] for what goes on from the last one, and [`audit_archived`]
/// for what was said of archived commands.
///
/// # Errors
/// [`StoreError`] if the store cannot be read, or if a query of the user's own fails. A violation
/// is no error; see [`AuditReport::holds`].
pub async fn audit<S: Store>(store: &S, options: AuditOptions) -> Result<AuditReport, StoreError> {
    let page = options.page.max(1);
    let mut findings = Findings::new(options.keep);
    check_commands(store, &options.expect, page, &mut findings).await?;
    check_events(store, page, &mut findings).await?;
    check_lanes(store, page, &mut findings).await?;
    for totals in store.totals().await? {
        findings.checked.destinations += 1;
        findings.add(of_totals(&totals));
    }
    for expect in &options.expect {
        expect::forward(store, expect, page, &mut findings).await?;
    }
    Ok(findings.into_report())
}

async fn check_commands<S: Store>(
    store: &S,
    expect: &[Expect],
    page: usize,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let mut back = expect::Back::of_all(expect, page);
    let mut pages = Pages::new(store, FactsFrom::default(), page);
    while let Some(facts) = pages.next().await? {
        for command in &facts.commands {
            findings.checked.commands += 1;
            findings.checked.acknowledged += command.acknowledged().0 as u64;
            findings.add(of_command(command));
        }
        for back in &mut back {
            back.add(store, &facts.commands, findings).await?;
        }
    }
    for back in &mut back {
        back.look(store, findings).await?;
    }
    Ok(())
}
