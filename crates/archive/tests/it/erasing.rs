//! Erasing before and after the archive, and what is left.

use counterfoil_archive::{ArchiveError, Erasure, Unwatched};
use counterfoil_core::domain::{Digest, Span};
use counterfoil_core::port::Store;
use counterfoil_core::port::archive::Archive;
use counterfoil_testkit::MemoryStore;

use crate::moving::flip;
use crate::scene::{Site, ids, in_memory};

#[tokio::test]
async fn erased_before_it_is_archived_without_its_content() {
    let site = in_memory().with(ids(3)).await;
    assert_eq!(site.erase("c-0001", &Unwatched).await.unwrap(), Erasure::Done(Vec::new()));
    assert_eq!(site.run().await.buried(), 3);
    let entry = site.lines().remove(1);
    assert!(entry.outbox.body.is_empty() && entry.erased_at.is_some());
    let tombstone = site.store.tombstones_of(&["c-0001".into()]).await.unwrap().remove(0).unwrap();
    assert_eq!(tombstone.digest, Digest::of(b"body of c-0001"));
    site.is_sound().await;
}

#[tokio::test]
async fn erased_after_it_the_file_is_rewritten_and_nothing_else() {
    let site = in_memory().with(ids(4)).await;
    site.run_watched(&site.options().file_commands(2), &Unwatched).await.unwrap();
    let files = site.files(".jsonl.zst");
    let bytes = |at: usize| std::fs::read(site.path(&files[at])).unwrap();
    let (lines, first, second) = (site.lines(), bytes(0), bytes(1));
    let tombstone = site.store.tombstones_of(&["c-0003".into()]).await.unwrap();
    site.clock.advance(Span::from_secs(5));
    let erased = site.erase("c-0003", &Unwatched).await.unwrap();
    assert_eq!(erased, Erasure::Done(vec![files[1].clone()]));
    assert_eq!(bytes(0), first, "the other file is left alone");
    assert_ne!(bytes(1), second);
    let now = site.lines();
    assert_eq!(now[..3], lines[..3]);
    let (was, is) = (&lines[3], &now[3]);
    assert_eq!((is.outbox.body.len(), &is.outbox.headers), (0, &None));
    assert_eq!(is.erased_at, Some(site.store.now().unwrap()));
    let (was, is) = (&was.receipts[0], &is.receipts[0]);
    assert_eq!((&is.receipt.result, &is.receipt.evidence), (&None, &None));
    assert_eq!(
        (is.digest, is.row_digest, is.receipt.outcome),
        (was.digest, was.row_digest, was.receipt.outcome)
    );
    assert_eq!(site.store.tombstones_of(&["c-0003".into()]).await.unwrap(), tombstone);
    let text = std::fs::read(site.path(&files[1])).unwrap();
    let text = zstd::decode_all(&text[..]).unwrap();
    assert!(!String::from_utf8(text).unwrap().contains("body of c-0003"));
    site.is_sound().await;
    let again = site.erase("c-0003", &Unwatched).await.unwrap();
    assert_eq!(again, Erasure::Repeated(Vec::new()), "nothing is left to take out");
    let acts = site.store.show("c-0003").await.unwrap().unwrap().actions;
    assert_eq!(acts.len(), 1, "recorded once: {acts:?}");
    site.is_sound().await;
}

#[tokio::test]
async fn what_is_open_or_unknown_is_not_erased() {
    let site = in_memory().with(ids(2)).await;
    site.run().await;
    assert_eq!(site.erase("open", &Unwatched).await.unwrap(), Erasure::Open);
    assert_eq!(site.erase("never", &Unwatched).await.unwrap(), Erasure::Unknown);
    site.is_sound().await;
}

#[tokio::test]
async fn one_whose_file_lies_elsewhere_is_refused_before_anything_is_done() {
    let site = in_memory().with(ids(2)).await;
    site.run().await;
    let file = site.files(".jsonl.zst").remove(0);
    std::fs::rename(site.path(&file), site.path("aside")).unwrap();
    let refused = site.erase("c-0000", &Unwatched).await.unwrap_err();
    assert!(matches!(refused, ArchiveError::NotHere { .. }), "{refused:?}");
    assert!(refused.to_string().contains(&file), "{refused}");
    let acts = site.store.show("c-0000").await.unwrap().unwrap().actions;
    assert!(acts.is_empty(), "{acts:?}");
    assert_eq!(site.files(".erase.json"), [""; 0]);
}

#[tokio::test]
async fn a_damaged_file_is_not_rewritten() {
    let site = in_memory().with(ids(2)).await;
    site.run().await;
    let file = site.files(".jsonl.zst").remove(0);
    flip(&site.path(&file));
    let damaged = std::fs::read(site.path(&file)).unwrap();
    let refused = site.erase("c-0000", &Unwatched).await.unwrap_err();
    assert_eq!(refused.code(), "CF1107", "{refused}");
    assert_eq!(std::fs::read(site.path(&file)).unwrap(), damaged);
    assert!(site.store.show("c-0000").await.unwrap().unwrap().actions.is_empty());
}

/// A run that was killed before it buried: the content lies in a file, and in the store.
#[tokio::test]
async fn what_lies_in_an_unfinished_file_is_taken_out_of_it() {
    let site = in_memory().with(ids(3)).await;
    let died = crate::scene::die_after(9, async |watch| {
        site.run_watched(&site.options(), watch).await.unwrap()
    });
    assert!(died.await.is_none());
    let erased = site.erase("c-0001", &Unwatched).await.unwrap();
    assert!(matches!(&erased, Erasure::Done(_)), "{erased:?}");
    let held = site.lines().into_iter().find(|entry| entry.outbox.command_id.as_str() == "c-0001");
    assert!(held.is_none_or(|entry| entry.outbox.body.is_empty()));
    site.run().await;
    assert_eq!(site.archived().await.len(), 3);
    site.is_sound().await;
}

/// A store that came back from before an archive, and was archived again: each id stands twice.
async fn archived_twice() -> (Site<MemoryStore>, Vec<String>) {
    let first = in_memory().with(ids(3)).await;
    first.run().await;
    let second = Site { dir: first.dir, ..in_memory() };
    second.clock.advance(Span::from_secs(3600));
    let second = second.with(ids(3)).await;
    second.run().await;
    let files = second.files(".jsonl.zst");
    assert_eq!((files.len(), second.lines().len()), (2, 6));
    (second, files)
}

fn bodies_of(site: &Site<MemoryStore>, id: &str) -> Vec<usize> {
    let lines = site.lines().into_iter().map(|entry| entry.outbox);
    lines.filter(|row| row.command_id.as_str() == id).map(|row| row.body.len()).collect()
}

#[tokio::test]
async fn it_leaves_every_line_of_the_folder() {
    let (site, files) = archived_twice().await;
    assert!(bodies_of(&site, "c-0001").iter().all(|bytes| *bytes > 0));
    let erased = site.erase("c-0001", &Unwatched).await.unwrap();
    assert_eq!(erased, Erasure::Done(files));
    assert_eq!(bodies_of(&site, "c-0001"), [0, 0]);
    assert!(bodies_of(&site, "c-0002").iter().all(|bytes| *bytes > 0));
    assert!(!site.findings().await.contains(&"CF1134"));
}

#[tokio::test]
async fn a_repeat_looks_for_every_line_too() {
    let (site, files) = archived_twice().await;
    let older = [files[0].clone(), files[0].replace(".jsonl.zst", ".manifest.json")];
    let aside = tempfile::TempDir::new().unwrap();
    for name in &older {
        std::fs::rename(site.path(name), aside.path().join(name)).unwrap();
    }
    let erased = site.erase("c-0001", &Unwatched).await.unwrap();
    assert_eq!(erased, Erasure::Done(vec![files[1].clone()]));
    for name in &older {
        std::fs::rename(aside.path().join(name), site.path(name)).unwrap();
    }
    assert!(site.findings().await.contains(&"CF1134"), "its way out is to erase it again");
    let again = site.erase("c-0001", &Unwatched).await.unwrap();
    assert_eq!(again, Erasure::Repeated(vec![files[0].clone()]));
    assert_eq!(bodies_of(&site, "c-0001"), [0, 0]);
    assert!(!site.findings().await.contains(&"CF1134"));
}

#[tokio::test]
async fn one_that_was_cut_short_waits_for_its_file() {
    let (mut waits, mut steps) = (0, 1);
    loop {
        let site = in_memory().with(ids(3)).await;
        site.run().await;
        let died = crate::scene::die_after(steps, async |watch| {
            site.erase("c-0001", watch).await.unwrap()
        });
        if died.await.is_some() {
            break;
        }
        steps += 1;
        let acts = async || site.store.show("c-0001").await.unwrap().unwrap().actions.len();
        let (before, file) = (acts().await, site.files(".jsonl.zst").remove(0));
        let is_asked = !site.files(".erase.json").is_empty();
        if !is_asked || !site.files(".manifest.next.json").is_empty() {
            continue;
        }
        let manifest = file.replace(".jsonl.zst", ".manifest.json");
        let aside = tempfile::TempDir::new().unwrap();
        for name in [&file, &manifest] {
            std::fs::rename(site.path(name), aside.path().join(name)).unwrap();
        }
        let refused = site.run_watched(&site.options(), &Unwatched).await.unwrap_err();
        assert!(matches!(&refused, ArchiveError::NotHere { .. }), "after {steps}: {refused:?}");
        assert!(refused.to_string().contains(&file), "{refused}");
        assert_eq!((acts().await, site.files(".erase.json").len()), (before, 1));
        for name in [&file, &manifest] {
            std::fs::rename(aside.path().join(name), site.path(name)).unwrap();
        }
        site.run().await;
        assert_eq!((acts().await, bodies_of(&site, "c-0001")), (1, vec![0]));
        site.is_sound().await;
        waits += 1;
    }
    assert!(waits > 3, "{waits} of {steps}");
}
