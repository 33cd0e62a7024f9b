//! The user's own queries: which commands must stand beside the user's own rows.
//!
//! Guarantees: forward, each id of the answer is a command; back, where a kind is given, each
//! command of that kind is in the answer. That finds the INSERT that was forgotten. Does not:
//! check archived commands back; their rows may be gone, too.

use super::report::Findings;
use crate::domain::laws::{CommandFacts, Violation, law};
use crate::port::Store;
use crate::port::store::StoreError;

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

/// Theirs first, then ours: a row and its command are committed together, so a command that is
/// missing afterwards was never written.
pub(super) async fn forward<S: Store>(
    store: &S,
    expect: &Expect,
    page: usize,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let mut offset = 0;
    loop {
        let ids = store.expected(&expect.sql, offset, page).await?;
        let known = store.known(&ids).await?;
        findings.checked.expected += ids.len() as u64;
        for (id, _) in ids.iter().zip(known).filter(|(_, known)| !known) {
            let found = format!("command {id} is expected by {:?}, but does not stand", expect.sql);
            findings.add([Violation::of(&law::EXPECTED_MISSING, vec![id.clone()], &found)]);
        }
        if ids.len() < page {
            return Ok(());
        }
        offset += ids.len() as u64;
    }
}

/// Ours first, then theirs, a page of commands at a time.
pub(super) async fn back<S: Store>(
    store: &S,
    expect: &Expect,
    commands: &[CommandFacts],
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let Some(kind) = &expect.kind else { return Ok(()) };
    let of_kind = |facts: &&CommandFacts| {
        facts.outbox.as_ref().is_some_and(|row| row.kind.as_str() == kind.as_str())
    };
    let ids: Vec<String> = commands.iter().filter(of_kind).map(|facts| facts.id.clone()).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let expected = store.expected_has(&expect.sql, &ids).await?;
    for (id, _) in ids.into_iter().zip(expected).filter(|(_, expected)| !expected) {
        let found =
            format!("command {id} is of kind {kind}, but {:?} does not expect it", expect.sql);
        findings.add([Violation::of(&law::EXPECTED_EXTRA, vec![id], &found)]);
    }
    Ok(())
}
