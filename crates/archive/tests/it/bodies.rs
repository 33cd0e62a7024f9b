//! Bodies of events that move into files, come back, and crashes on the way.

use std::panic::AssertUnwindSafe;
use std::task::Poll;

use counterfoil_archive::{BodyReader, Folder, Step, Unwatched, Work, archive, recall, verify};
use counterfoil_core::domain::workflow::End;
use counterfoil_core::domain::{Digest, Span};
use counterfoil_core::port::Bodies as _;
use counterfoil_core::port::bodies::KeptBodies;
use counterfoil_core::port::workflow::Workflows as _;

use crate::flows::{all, stream};
use crate::scene::{At, ann, die_after, ids, in_memory};

#[tokio::test]
async fn commands_and_bodies_move_in_one_run() {
    let site = in_memory().with(ids(2)).await.with_flows().await;
    site.chat("new", 1, None, None).await;
    let report = site.run().await;
    assert_eq!((report.buried(), report.taken()), (2, 7));
    assert_eq!((report.files.len(), report.events.len()), (1, 1));
    let file = &report.events[0];
    assert_eq!((file.events, file.left, file.resumed), (7, 0, false));
    assert!(file.name.ends_with("-1-7.events.jsonl.zst"), "{}", file.name);
    assert_eq!(report.kept_bodies, KeptBodies::default(), "the new one is too young to count");
    assert_eq!(site.taken().await, all());
    site.each_has_its_body().await;
    site.is_sound().await;
    let verified = site.verified().await;
    assert_eq!((verified.files, verified.events, verified.bodies), (2, 7, 7));
    let name = &site.files(".events.manifest.json")[0];
    let manifest = std::fs::read(site.path(name)).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest["stage"], "buried");
    assert_eq!((&manifest["events"], &manifest["workflows"]), (&7.into(), &2.into()));
    assert_eq!(
        (&manifest["first_stream"], &manifest["last_stream"]),
        (&"done".into(), &"runs".into())
    );
    let again = site.run().await;
    assert_eq!((again.taken(), again.events.len()), (0, 0));
    site.clock.advance(Span::from_secs(60));
    assert_eq!(site.run().await.kept_bodies.without_snapshot, 1);
}

#[tokio::test]
async fn a_file_ends_after_so_many_events() {
    let site = in_memory().with_flows().await;
    let options = site.options().file_commands(3);
    let report = site.run_watched(&options, &Unwatched).await.unwrap();
    let counts: Vec<_> = report.events.iter().map(|file| (file.events, file.taken)).collect();
    assert_eq!(counts, [(3, 3), (3, 3), (1, 1)]);
    site.each_has_its_body().await;
    site.is_sound().await;
}

#[tokio::test]
async fn a_run_that_dies_at_any_step_leaves_row_or_file() {
    let mut deaths = 0;
    loop {
        let site = in_memory().with_flows().await;
        let options = site.options().file_commands(3);
        let died =
            die_after(deaths + 1, async |watch| site.run_watched(&options, watch).await.unwrap());
        let done = died.await;
        // A part that was never whole is nobody's file.
        site.each_has_its_body().await;
        if done.is_none() {
            let resumed = site.run_watched(&options, &Unwatched).await.unwrap();
            assert!(resumed.events.iter().all(|file| file.left == 0), "{resumed:?}");
        }
        assert_eq!(site.taken().await, all(), "after {deaths} steps");
        assert_eq!(site.event_lines().len(), 7, "after {deaths} steps each has one line");
        site.each_has_its_body().await;
        site.is_sound().await;
        if done.is_some() {
            break;
        }
        deaths += 1;
    }
    assert!(deaths > 30, "{deaths} steps");
}

/// Dies once the first manifest is written.
fn dies_once_it_is_whole(step: Step<'_>) {
    let is_whole = matches!(step, Step::Named(name) if name.ends_with("manifest.json"));
    assert!(!is_whole, "dies here");
}

/// Whether the work died.
async fn died<F: Future>(work: F) -> bool {
    let mut work = Box::pin(work);
    std::future::poll_fn(move |context| {
        let poll = AssertUnwindSafe(|| work.as_mut().poll(context).map(drop));
        match std::panic::catch_unwind(poll) {
            Ok(polled) => polled.map(|()| false),
            Err(_) => Poll::Ready(true),
        }
    })
    .await
}

/// A run was cut short behind its file, and then a person may need the history.
#[tokio::test]
async fn what_is_set_aside_meanwhile_is_left() {
    let site = in_memory().with_flows().await;
    let run = async { site.run_watched(&site.options(), &At(dies_once_it_is_whole)).await };
    assert!(died(run).await);
    site.set_aside("runs", 4).await;
    let report = site.run().await;
    let file = &report.events[0];
    assert_eq!((file.resumed, file.events, file.taken, file.left), (true, 7, 4, 3));
    assert_eq!(report.kept_bodies.quarantined, 1);
    site.each_has_its_body().await;
    site.is_sound().await;
    // Taken up again, it is archived into another file.
    assert!(site.store.retry_workflow(&stream("runs"), ann("mended")).await.unwrap());
    assert_eq!(site.run().await.taken(), 3);
    assert_eq!(site.taken().await, all());
    site.is_sound().await;
}

/// Two folders: the lines of the one that came second are copies, and prove the same.
#[tokio::test]
async fn what_another_run_takes_meanwhile_lies_in_one_file() {
    let site = in_memory().with_flows().await;
    let run = async { site.run_watched(&site.options(), &At(dies_once_it_is_whole)).await };
    assert!(died(run).await);
    let other = tempfile::tempdir().unwrap();
    let other = Folder::new(other.path()).unwrap();
    let lock = other.clone().lock().unwrap();
    // A file is called after its time.
    site.clock.advance(Span::from_secs(1));
    let report = archive(&Work::new(&site.store, &lock), &site.options()).await.unwrap();
    assert_eq!(report.taken(), 7);
    drop(lock);
    let report = site.run().await;
    assert_eq!((report.events[0].taken, report.events[0].left), (0, 7));
    assert_eq!(site.findings().await, ["CF1138"], "they lie in the other folder");
    let both = verify(&site.store, &[site.folder(), other], 100).await.unwrap();
    assert!(both.holds, "{both:#?}");
    assert_eq!((both.events, both.bodies), (14, 7));
}

#[tokio::test]
async fn bodies_come_back_and_may_leave_again() {
    let site = in_memory().with_flows().await;
    let before = site.events().await;
    site.run_watched(&site.options().file_commands(2), &Unwatched).await.unwrap();
    let mut reader = BodyReader::new(vec![site.folder()]);
    let came = recall(&site.store, &mut reader, &stream("done"), &ann("version 2")).await.unwrap();
    assert_eq!(came, 4);
    let came = recall(&site.store, &mut reader, &stream("runs"), &ann("version 2")).await.unwrap();
    assert_eq!((came, site.events().await), (3, before));
    let came = recall(&site.store, &mut reader, &stream("runs"), &ann("version 2")).await.unwrap();
    assert_eq!(came, 0, "once");
    site.is_sound().await;
    let acts = site.store.with_rows(|rows| rows.actions.len());
    assert!(acts >= 2, "{acts}");
    // The lines are copies then, and the next run writes a file of its own.
    assert_eq!(site.run().await.taken(), 7);
    assert_eq!(site.event_lines().len(), 14);
    site.each_has_its_body().await;
    site.is_sound().await;
}

/// A recall that was cut short: the newest came back first, so a run goes on behind the others.
#[tokio::test]
async fn a_part_that_came_back_leaves_again() {
    let site = in_memory().with_flows().await;
    let before = site.events().await;
    site.run().await;
    let newest = before[2..4].to_vec();
    let back = site.store.put_back(&stream("done"), newest, ann("version 2")).await.unwrap();
    assert_eq!(back, [true, true]);
    site.is_sound().await;
    assert_eq!(site.run().await.taken(), 2);
    assert_eq!(site.taken().await, all());
    site.is_sound().await;
}

#[tokio::test]
async fn without_its_file_nothing_comes_back() {
    let site = in_memory().with_flows().await;
    site.run_watched(&site.options().file_commands(2), &Unwatched).await.unwrap();
    let files = site.files(".events.jsonl.zst");
    std::fs::rename(site.path(&files[1]), site.path("aside")).unwrap();
    let mut reader = BodyReader::new(vec![site.folder()]);
    let refused = recall(&site.store, &mut reader, &stream("done"), &ann("")).await.unwrap_err();
    assert_eq!(refused.code(), "CF1112", "{refused}");
    assert!(refused.to_string().contains(&files[1]), "{refused}");
    assert_eq!(site.taken().await, all(), "none came back");
    // A file that rotted is none.
    let bytes = std::fs::read(site.path("aside")).unwrap();
    std::fs::write(site.path(&files[1]), &bytes[..bytes.len() - 9]).unwrap();
    let mut reader = BodyReader::new(vec![site.folder()]);
    let refused = recall(&site.store, &mut reader, &stream("done"), &ann("")).await.unwrap_err();
    assert_eq!((refused.code(), site.taken().await), ("CF1107", all()), "{refused}");
    // In another folder it is found.
    let other = tempfile::tempdir().unwrap();
    std::fs::remove_file(site.path(&files[1])).unwrap();
    std::fs::write(other.path().join(&files[1]), bytes).unwrap();
    let other = counterfoil_archive::Folder::new(other.path()).unwrap();
    let mut reader = BodyReader::new(vec![site.folder(), other]);
    let came = recall(&site.store, &mut reader, &stream("done"), &ann("")).await.unwrap();
    assert_eq!(came, 4);
}

/// Its line is whole, and is not what the row keeps the digest of.
#[tokio::test]
async fn another_body_than_the_rows_does_not_come_back() {
    let site = in_memory().with_flows().await;
    site.run().await;
    site.store.with_rows(|rows| {
        let event = rows.events.get_mut(&("done".to_owned(), 2)).unwrap();
        event.archived.as_mut().unwrap().digest = Some(Digest::of(b"another"));
    });
    let mut reader = BodyReader::new(vec![site.folder()]);
    let refused = recall(&site.store, &mut reader, &stream("done"), &ann("")).await.unwrap_err();
    assert_eq!((refused.code(), site.taken().await), ("CF1107", all()), "{refused}");
    assert!(refused.to_string().contains("event done:2"), "{refused}");
}

/// The file was whole, and is another one when the next run takes the bodies.
#[tokio::test]
async fn a_file_that_rots_meanwhile_stops_the_run() {
    let site = in_memory().with_flows().await;
    let run = async { site.run_watched(&site.options(), &At(dies_once_it_is_whole)).await };
    assert!(died(run).await);
    let path = site.path(&site.files(".events.jsonl.zst")[0]);
    let whole = std::fs::read(&path).unwrap();
    let lines = zstd::decode_all(&whole[..]).unwrap();
    let first = lines.split_inclusive(|byte| *byte == b'\n').next().unwrap();
    std::fs::write(&path, zstd::encode_all(first, 3).unwrap()).unwrap();
    let refused = site.run_watched(&site.options(), &Unwatched).await.unwrap_err();
    assert_eq!((refused.code(), site.taken().await.len()), ("CF1107", 0), "{refused}");
    std::fs::write(&path, whole).unwrap();
    assert_eq!(site.run().await.taken(), 7);
    site.is_sound().await;
}

#[tokio::test]
async fn many_bodies_come_back_in_parts() {
    let site = in_memory();
    site.chat("done", 300, None, Some(End::Failed("no seat".into()))).await;
    site.clock.advance(Span::from_secs(60));
    assert_eq!(site.run().await.taken(), 300);
    site.each_has_its_body().await;
    let mut reader = BodyReader::new(vec![site.folder()]);
    let came = recall(&site.store, &mut reader, &stream("done"), &ann("why")).await.unwrap();
    assert_eq!((came, site.taken().await.len()), (300, 0));
    site.each_has_its_body().await;
}
