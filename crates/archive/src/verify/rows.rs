//! Every archived event against the files: does the file that it names hold its line?
//!
//! Guarantees: one pass in bounded memory where all is right. Does not: compare what they say; see
//! `events`.

use std::collections::{BTreeMap, BTreeSet};

use counterfoil_core::domain::EventRow;
use counterfoil_core::port::bodies::{Bodies, Place};
use counterfoil_core::port::store::StoreError;

use super::file::Checked;
use super::finding::{Findings, code};
use crate::bodies::line::decode;
use crate::error::ArchiveError;
use crate::lines::Lines;

/// How many are read at once.
const PAGE: usize = 1000;
/// How many events of one file are named.
const NAMED: usize = 20;

/// Checks all; how many there are.
pub(super) async fn check<S: Bodies>(
    store: &S,
    files: &[Checked],
    findings: &mut Findings,
) -> Result<u64, ArchiveError> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    each(store, |file, _| *counts.entry(file).or_default() += 1).await?;
    let known: BTreeMap<&str, &Checked> =
        files.iter().map(|file| (file.name.as_str(), file)).collect();
    for (name, count) in &counts {
        let Some(file) = known.get(name.as_str()) else {
            let found = format!(
                "{count} events name it for their bodies, and it is in no folder that was given: \
                 bring it back, or give its folder, too"
            );
            findings.add(code::EVENT_ELSEWHERE, name, Vec::new(), &found);
            continue;
        };
        if file.matched.is_some_and(|matched| matched < *count) {
            let places = without_line(store, file).await?;
            let ids: Vec<String> =
                places.iter().map(|(stream, seq)| format!("{stream}:{seq}")).collect();
            let such = ids.first().map(|id| format!(", such as {id}")).unwrap_or_default();
            let found = format!(
                "{} events name it for their bodies, and it has no line of them{such}: bring it \
                 back from a backup",
                ids.len()
            );
            findings.add(code::EVENT_NO_LINE, name, ids.into_iter().take(NAMED).collect(), &found);
        }
    }
    Ok(counts.values().sum())
}

async fn each<S: Bodies>(
    store: &S,
    mut told: impl FnMut(String, Place),
) -> Result<(), ArchiveError> {
    let mut after: Option<Place> = None;
    loop {
        let page = store.archived_bodies(after.clone(), PAGE).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = goes_on(&after, place(last))?;
        for event in page {
            let place = place(&event);
            if let Some(archived) = event.archived {
                told(archived.file, place);
            }
        }
    }
}

/// Where the next page begins: a store whose pages stand still would be read for ever.
pub(super) fn goes_on<T: PartialEq>(after: &Option<T>, last: T) -> Result<Option<T>, StoreError> {
    if after.as_ref() == Some(&last) {
        let stands = "its pages of what is archived do not go on, so not all of it was looked at: \
                      run `audit --full`, which names a row that was changed by hand";
        return Err(StoreError::Broken(stands.into()));
    }
    Ok(Some(last))
}

/// The events that name the file, and have no line in it.
async fn without_line<S: Bodies>(
    store: &S,
    file: &Checked,
) -> Result<BTreeSet<Place>, ArchiveError> {
    let mut places = BTreeSet::new();
    let named = |name: String, place: Place| {
        if name == file.name {
            places.insert(place);
        }
    };
    each(store, named).await?;
    let mut lines = Lines::open(&file.folder.at(&file.name))?;
    while let Some(line) = lines.line()? {
        if let Ok(event) = decode(&line) {
            places.remove(&place(&event));
        }
    }
    Ok(places)
}

fn place(event: &EventRow) -> Place {
    (event.stream.to_string(), event.seq)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `archive --verify` ran for ever over a page that came again and again.
    #[test]
    fn a_page_that_comes_again_ends_it() {
        assert_eq!(goes_on(&None, 1).unwrap(), Some(1));
        assert_eq!(goes_on(&Some(1), 2).unwrap(), Some(2));
        assert!(matches!(goes_on(&Some(2), 2), Err(StoreError::Broken(_))));
    }
}
