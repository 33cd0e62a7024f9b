//! The user's own queries: which commands must stand beside the user's own rows.
//!
//! Guarantees: forward, each id of the answer is a command; back, where a kind is given, each
//! command of that kind is in the answer. That finds the INSERT that was forgotten. Does not:
//! check archived commands back; their rows may be gone, too.

use super::page::Pages;
use super::report::Findings;
use super::seal::Sum;
use crate::domain::Digest;
use crate::domain::laws::{CommandFacts, Violation, law};
use crate::port::read::FactsFrom;
use crate::port::store::StoreError;
use crate::port::{Audited, Store};

/// A query of the user's own: its first column names commands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expect {
    /// The query; read only. An ORDER BY keeps its pages apart while others write.
    pub sql: String,
    /// The kind whose commands must all be in the answer; `None` checks forward only.
    pub kind: Option<String>,
}

impl Expect {
    /// Each id that `sql` answers must be a command.
    #[must_use]
    pub fn new(sql: impl Into<String>) -> Self {
        Self { sql: sql.into(), kind: None }
    }

    /// And each command of this kind must be in the answer.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kind = Some(kind.into());
        self
    }
}

impl Expect {
    /// Forward, and back over what is sealed, unless the sealed commands that are answered are, by
    /// the sum of their ids, those that were `sealed`; up to `horizon`. What came since was looked
    /// for in the answer already.
    pub(super) async fn incremental<S: Audited>(
        &self,
        store: &S,
        page: usize,
        (sealed, horizon): (Option<Sum>, i64),
        findings: &mut Findings,
    ) -> Result<(), StoreError> {
        let answered = self.answered(store, page, horizon, findings).await?;
        let Some(kind) = &self.kind else { return Ok(()) };
        if sealed == Some(answered) {
            let commands = u64::try_from(answered.rows).unwrap_or_default();
            findings.looks_back((&self.sql, kind), commands);
            return Ok(());
        }
        let mut back = Back::new(self, page);
        let mut pages = Pages::new(store, FactsFrom::default(), page);
        while let Some(mut facts) = pages.next().await? {
            facts.commands.retain(|facts| facts.n <= horizon);
            if facts.commands.is_empty() {
                break;
            }
            back.add(store, &facts.commands, findings).await?;
        }
        back.look(store, findings).await
    }

    /// Forward; the ids that are answered of commands up to `horizon`, and of archived ones.
    async fn answered<S: Audited>(
        &self,
        store: &S,
        page: usize,
        horizon: i64,
        findings: &mut Findings,
    ) -> Result<Sum, StoreError> {
        let (mut sum, mut offset, page) = (Sum::default(), 0, page.saturating_mul(PAGES));
        loop {
            let ids = store.expected(&self.sql, offset, page).await?;
            let numbers = store.numbers(&ids).await?;
            findings.checked.expected += ids.len() as u64;
            for (row, (id, n)) in (offset + 1..).zip(ids.iter().zip(numbers)) {
                match n {
                    None => findings.add([missing(self, id, row)]),
                    Some(n) if n <= horizon => sum.add(&Digest::of(id.as_bytes())),
                    Some(_) => {}
                }
            }
            offset += ids.len() as u64;
            if ids.len() < page {
                return Ok(sum);
            }
        }
    }
}

/// What the query's row of this number, from 1, names and is no command.
fn missing(expect: &Expect, id: &str, row: u64) -> Violation {
    if id.is_empty() {
        let text = format!(
            "row {row} of the answer of {:?} has NULL or an empty text where an id should be: \
             leave such rows out by a WHERE, or find out which value is missing there",
            expect.sql
        );
        return Violation { code: law::EXPECTED_MISSING.code, ids: Vec::new(), text };
    }
    let found = format!("command {id} is expected by {:?}, but does not stand", expect.sql);
    Violation::of(&law::EXPECTED_MISSING, vec![id.to_owned()], &found)
}

fn is_of(facts: &CommandFacts, kind: &str) -> bool {
    facts.outbox.as_ref().is_some_and(|row| row.kind.as_str() == kind)
}

/// How many pages of commands are looked for in an answer at once, and how many pages of an answer
/// are read at once: each look begins at the answer's first row, so few long ones read least.
const PAGES: usize = 100;

/// Theirs first, then ours: a row and its command are committed together, so a command that is
/// missing afterwards was never written.
pub(super) async fn forward<S: Store>(
    store: &S,
    expect: &Expect,
    page: usize,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let (mut offset, page) = (0, page.saturating_mul(PAGES));
    loop {
        let ids = store.expected(&expect.sql, offset, page).await?;
        let known = store.known(&ids).await?;
        findings.checked.expected += ids.len() as u64;
        let rows = (offset + 1..).zip(ids.iter().zip(known));
        for (row, (id, _)) in rows.filter(|(_, (_, known))| !known) {
            findings.add([missing(expect, id, row)]);
        }
        offset += ids.len() as u64;
        if ids.len() < page {
            return Ok(());
        }
    }
}

/// Commands of a query's kind that are to be looked for in its answer: ours first, then theirs.
pub(super) struct Back<'a> {
    expect: &'a Expect,
    /// As many are gathered.
    at_once: usize,
    ids: Vec<String>,
}

impl<'a> Back<'a> {
    /// None are gathered yet.
    pub(super) fn new(expect: &'a Expect, page: usize) -> Self {
        Self { expect, at_once: page.saturating_mul(PAGES), ids: Vec::new() }
    }

    /// The same for each of several queries.
    pub(super) fn of_all(expect: &'a [Expect], page: usize) -> Vec<Self> {
        expect.iter().map(|expect| Self::new(expect, page)).collect()
    }

    /// Gathers those of a page of commands; looks for them once they are many.
    pub(super) async fn add<S: Store>(
        &mut self,
        store: &S,
        commands: &[CommandFacts],
        findings: &mut Findings,
    ) -> Result<(), StoreError> {
        let Some(kind) = &self.expect.kind else { return Ok(()) };
        let before = self.ids.len();
        let of_kind = commands.iter().filter(|facts| is_of(facts, kind));
        self.ids.extend(of_kind.map(|facts| facts.id.clone()));
        findings.looks_back((&self.expect.sql, kind), (self.ids.len() - before) as u64);
        if self.ids.len() >= self.at_once { self.look(store, findings).await } else { Ok(()) }
    }

    /// Looks for those that are gathered.
    pub(super) async fn look<S: Store>(
        &mut self,
        store: &S,
        findings: &mut Findings,
    ) -> Result<(), StoreError> {
        let ids = std::mem::take(&mut self.ids);
        let Expect { sql, kind: Some(kind) } = self.expect else { return Ok(()) };
        if ids.is_empty() {
            return Ok(());
        }
        let expected = store.expected_has(sql, &ids).await?;
        for (id, _) in ids.into_iter().zip(expected).filter(|(_, expected)| !expected) {
            // It may have been archived since it was read, and its row be gone rightly.
            if store.show(&id).await?.is_none_or(|story| story.archived) {
                continue;
            }
            let found = format!("command {id} is of kind {kind}, but {sql:?} does not expect it");
            findings.add([Violation::of(&law::EXPECTED_EXTRA, vec![id], &found)]);
        }
        Ok(())
    }
}
