//! What a run moves, what it leaves, and what it refuses.

use counterfoil_archive::{ArchiveError, Compared, Folder, Step, Unwatched, look};
use counterfoil_core::domain::{Command, Digest, ReceiptOutcome, Span};
use counterfoil_core::port::Store;
use counterfoil_core::port::archive::Archive;
use counterfoil_core::port::store::{Recorded, Reported, WriteRefused};

use crate::scene::{At, SHOP, Site, command, ids, in_memory};

#[tokio::test]
async fn what_has_ended_is_moved_and_can_be_looked_at() {
    let site = in_memory().with(ids(10)).await;
    let mut entries = Vec::new();
    for id in ids(10) {
        entries.push(site.store.entry(&id).await.unwrap().unwrap());
    }
    let report = site.run().await;
    assert_eq!((report.buried(), report.broken, report.files.len()), (10, 0, 1));
    assert_eq!(site.here().await.into_iter().collect::<Vec<_>>(), ["open"]);
    assert_eq!(site.archived().await.into_iter().collect::<Vec<_>>(), ids(10).collect::<Vec<_>>());
    assert_eq!(site.lines(), entries, "exactly as it stood");
    let file = &report.files[0].name;
    assert_eq!(site.files(".jsonl.zst"), std::slice::from_ref(file));
    for entry in entries {
        let id = entry.outbox.command_id.to_string();
        let looked = look(&site.folder(), file, &id).unwrap().unwrap();
        assert_eq!((looked.entry, looked.compared), (Some(entry), Compared::Same));
    }
    assert_eq!(look(&site.folder(), file, "c-00").unwrap().unwrap().entry, None);
    assert_eq!(look(&site.folder(), "../secret", "c-0000").unwrap(), None);
    let manifest = site.manifest(0);
    assert_eq!(manifest["commands"], 10);
    assert_eq!((&manifest["first_n"], &manifest["last_n"]), (&1.into(), &10.into()));
    assert_eq!((&manifest["stage"], &manifest["file"]), (&"buried".into(), &file.as_str().into()));
    let bytes = std::fs::read(site.path(file)).unwrap();
    assert_eq!(manifest["compressed"]["sha256"], Digest::of(&bytes).to_hex());
    assert_eq!(manifest["compressed"]["bytes"], bytes.len());
    site.is_sound().await;
    let verified = site.verified().await;
    assert_eq!((verified.files, verified.commands, verified.tombstones), (1, 10, 10));
}

#[tokio::test]
async fn with_nothing_to_move_nothing_is_written() {
    let site = in_memory().with(ids(3)).await;
    let long_ago = counterfoil_archive::Options::new(counterfoil_core::domain::Micros::EARLIEST);
    let report = site.run_watched(&long_ago, &Unwatched).await.unwrap();
    assert_eq!(report, counterfoil_archive::ArchiveReport::default());
    assert_eq!(site.files("").len(), 1, "the lock alone");
    site.is_sound().await;
}

#[tokio::test]
async fn a_table_larger_than_any_batch_goes_to_its_end() {
    let site = in_memory().with(ids(2300)).await;
    let report = site.run_watched(&site.options().file_commands(1000), &Unwatched).await.unwrap();
    let commands: Vec<_> = report.files.iter().map(|file| file.commands).collect();
    assert_eq!((commands, report.buried()), (vec![1000, 1000, 300], 2300));
    assert_eq!(site.here().await.len(), 1);
    assert_eq!(site.lines().len(), 2300);
    site.is_sound().await;
}

#[tokio::test]
async fn what_breaks_a_law_stays_and_is_named() {
    let site = in_memory().with(ids(5)).await;
    site.store.with_rows(|rows| {
        let n = rows.n_of("c-0002").unwrap();
        let row = rows.outbox.get_mut(&n).unwrap().row.as_mut().unwrap();
        std::sync::Arc::make_mut(row).body = b"another".to_vec();
    });
    let report = site.run().await;
    assert_eq!((report.buried(), report.broken), (4, 1));
    assert_eq!(report.violations[0].code, "CF0808");
    assert_eq!(report.violations[0].ids, ["c-0002"]);
    assert!(site.here().await.contains("c-0002"));
    assert_eq!(site.verified().await.findings, []);
}

#[tokio::test]
async fn a_decision_whose_event_is_gone_stays() {
    let site = in_memory().with(ids(1)).await;
    let append = counterfoil_core::port::store::Append {
        stream: counterfoil_core::domain::Stream::new("o-1").unwrap(),
        expected_seq: 0,
        events: vec![counterfoil_core::domain::Event::json("placed", &1).unwrap()],
        commands: vec![Command { id: None, ..command("x") }, Command { id: None, ..command("y") }],
    };
    site.store.append(append).await.unwrap().unwrap();
    site.deliver().await;
    site.store.enqueue(vec![Command::bytes("last", "bank", "k", "1").unwrap()]).await.unwrap();
    site.clock.advance(Span::from_secs(60));
    let event = site.store.with_rows(|rows| rows.events.remove(&("o-1".into(), 1))).unwrap();
    let report = site.run().await;
    assert_eq!((report.buried(), report.broken), (1, 2));
    assert_eq!(report.violations[0].code, "CF0824");
    site.store.with_rows(|rows| rows.events.insert(("o-1".into(), 1), event));
    assert_eq!(site.run().await.buried(), 2);
    site.is_sound().await;
}

#[tokio::test]
async fn what_is_contradicted_is_counted_and_waits() {
    let site = in_memory().with(ids(3)).await;
    assert_eq!(site.report("c-0001", ReceiptOutcome::Rejected).await, Reported::Contradiction);
    let report = site.run().await;
    assert_eq!((report.buried(), report.kept.contradicted), (2, 1));
    let done = counterfoil_core::domain::transition::Verdict::Completed { result: None };
    site.act("c-0001", counterfoil_core::port::Act::Resolve(done)).await;
    assert_eq!(site.run().await.buried(), 1);
    site.is_sound().await;
}

/// The story: the row is gone, and the same id comes again a month later.
#[tokio::test]
async fn the_same_id_on_day_31_is_the_same_intent() {
    let site = in_memory().with(ids(2)).await;
    site.clock.advance(Span::from_secs(31 * 86_400));
    assert_eq!(site.run().await.buried(), 2);
    let answers = site.store.enqueue(vec![command("c-0000")]).await.unwrap();
    assert_eq!(answers, [Ok(Recorded::Repeated)]);
    let other = Command::bytes("c-0000", SHOP, "order.paid", "other").unwrap();
    let answers = site.store.enqueue(vec![other]).await.unwrap();
    assert_eq!(answers, [Err(WriteRefused::Conflict { id: "c-0000".into() })]);
    assert_eq!(site.report("c-0001", ReceiptOutcome::Completed).await, Reported::Repeated);
    site.is_sound().await;
}

#[tokio::test]
async fn a_folder_is_one_runs_at_a_time() {
    let site = in_memory().with(ids(3)).await;
    let held = site.lock();
    let second = site.folder().lock();
    assert!(matches!(second, Err(ArchiveError::Busy { .. })), "{second:?}");
    let verified = counterfoil_archive::verify(&site.store, &[site.folder()], 9).await;
    assert!(matches!(verified, Err(ArchiveError::Busy { .. })), "{verified:?}");
    drop(held);
    assert_eq!(site.run().await.buried(), 3);
}

#[tokio::test]
async fn runs_into_two_folders_at_once_move_each_command_once() {
    let site = in_memory().with(ids(700)).await;
    let other = Site {
        store: site.store.clone(),
        clock: site.clock.clone(),
        dir: tempfile::tempdir().unwrap(),
    };
    let options = site.options().file_commands(200);
    // Time goes on, so that no two files are begun at once.
    let watch = At(|_: Step<'_>| site.clock.advance(Span::from_micros(1)));
    let (one, two) =
        tokio::join!(site.run_watched(&options, &watch), other.run_watched(&options, &watch));
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!(one.buried() + two.buried(), 700);
    assert!(one.buried() > 0 && two.buried() > 0, "{} {}", one.buried(), two.buried());
    let both = [site.folder(), other.folder()];
    let verified = counterfoil_archive::verify(&site.store, &both, 9).await.unwrap();
    assert!(verified.holds, "{verified:#?}");
    let named = two.files.iter().filter(|file| file.buried > 0).count();
    assert_eq!(site.findings().await, vec!["CF1133"; named], "half of it is elsewhere");
}

#[tokio::test]
async fn a_folder_is_one_stores() {
    let site = in_memory().with(ids(3)).await;
    site.run().await;
    let path = site.path(&site.files(".manifest.json")[0]);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("urn:counterfoil:memory", "urn:other")).unwrap();
    let refused = site.run_watched(&site.options(), &Unwatched).await.unwrap_err();
    assert_eq!(refused.code(), "CF1105");
    assert!(refused.to_string().contains("urn:other"), "{refused}");
    assert_eq!(site.findings().await[0], "CF1125");
}

#[tokio::test]
async fn a_folder_that_is_none_is_named() {
    let missing = Folder::new("/nowhere/at/all").unwrap_err();
    assert_eq!(missing.code(), "CF1101");
    assert!(missing.to_string().contains("/nowhere/at/all"), "{missing}");
    let site = in_memory();
    let file = site.path("file");
    std::fs::write(&file, "x").unwrap();
    assert_eq!(Folder::new(file).unwrap_err().code(), "CF1101");
}

/// The disk takes the bytes and gives back others.
#[tokio::test]
async fn what_reads_back_otherwise_removes_nothing() {
    let site = in_memory().with(ids(5)).await;
    let dir = site.dir.path().to_owned();
    let rot = At(move |step: Step<'_>| {
        if let Step::Synced(name) = step
            && name.contains(".jsonl.zst")
        {
            flip(&dir.join(name));
        }
    });
    let refused = site.run_watched(&site.options(), &rot).await.unwrap_err();
    assert_eq!(refused.code(), "CF1106", "{refused}");
    assert_eq!(site.here().await.len(), 6);
    assert_eq!(site.files("").len(), 1, "only the lock is left");
    assert_eq!(site.run().await.buried(), 5);
    site.is_sound().await;
}

#[tokio::test]
async fn a_file_that_rots_before_its_burial_removes_nothing() {
    let site = in_memory().with(ids(5)).await;
    let dir = site.dir.path().to_owned();
    let rot = At(move |step: Step<'_>| {
        if let Step::Named(name) = step
            && name.ends_with(".jsonl.zst")
        {
            flip(&dir.join(name));
        }
    });
    let refused = site.run_watched(&site.options(), &rot).await.unwrap_err();
    assert_eq!(refused.code(), "CF1107", "{refused}");
    assert_eq!(site.here().await.len(), 6);
    let again = site.run_watched(&site.options(), &Unwatched).await.unwrap_err();
    assert_eq!(again.code(), "CF1107", "a person has to look: {again}");
}

/// Another whole file under its name, which no checksum of the frame would find.
#[tokio::test]
async fn a_file_that_is_replaced_before_its_burial_removes_nothing() {
    let site = in_memory().with(ids(5)).await;
    let dir = site.dir.path().to_owned();
    let replace = At(move |step: Step<'_>| {
        if let Step::Named(name) = step
            && name.ends_with(".jsonl.zst")
        {
            let bytes = std::fs::read(dir.join(name)).unwrap();
            let text = String::from_utf8(zstd::decode_all(&bytes[..]).unwrap()).unwrap();
            let first = format!("{}\n", text.lines().next().unwrap());
            std::fs::write(dir.join(name), zstd::encode_all(first.as_bytes(), 1).unwrap()).unwrap();
        }
    });
    let refused = site.run_watched(&site.options(), &replace).await.unwrap_err();
    assert_eq!(refused.code(), "CF1107", "{refused}");
    assert_eq!(site.here().await.len(), 6);
}

/// Changes one bit in the middle.
pub(crate) fn flip(path: &std::path::Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(path, bytes).unwrap();
}
