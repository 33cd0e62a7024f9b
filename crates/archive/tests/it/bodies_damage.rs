//! Each kind of damage to files of events, and to their rows, and the code that it is found by.

use std::fs;

use counterfoil_archive::Unwatched;
use counterfoil_core::domain::{Digest, Kind};
use counterfoil_testkit::MemoryStore;

use crate::scene::{Site, in_memory};

/// Four files of two events each at most, all sound.
async fn files() -> (Site<MemoryStore>, Vec<String>) {
    let site = in_memory().with_flows().await;
    site.run_watched(&site.options().file_commands(2), &Unwatched).await.unwrap();
    site.is_sound().await;
    let files = site.files(".events.jsonl.zst");
    assert_eq!(files.len(), 4);
    (site, files)
}

fn manifest_of(file: &str) -> String {
    file.replace(".jsonl.zst", ".manifest.json")
}

#[tokio::test]
async fn a_truncated_or_changed_file() {
    let (site, files) = files().await;
    let path = site.path(&files[1]);
    let bytes = fs::read(&path).unwrap();
    for keep in [0, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&path, &bytes[..keep]).unwrap();
        assert_eq!(site.findings().await, ["CF1122"], "{keep} bytes");
    }
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        fs::write(&path, &flipped).unwrap();
        assert_eq!(site.findings().await, ["CF1123"], "at byte {at}");
    }
}

#[tokio::test]
async fn a_missing_or_swapped_file() {
    let (site, files) = files().await;
    let (one, two) = (site.path(&files[0]), site.path(&files[2]));
    let (first, second) = (fs::read(&one).unwrap(), fs::read(&two).unwrap());
    fs::write(&one, &second).unwrap();
    fs::write(&two, &first).unwrap();
    assert_eq!(site.findings().await, ["CF1124", "CF1124"]);
    fs::write(&one, first).unwrap();
    fs::remove_file(&two).unwrap();
    assert_eq!(site.findings().await, ["CF1121"]);
    fs::remove_file(site.path(&manifest_of(&files[2]))).unwrap();
    let report = site.verified().await;
    assert_eq!((report.findings.len(), report.findings[0].code), (1, "CF1138"));
    assert!(report.findings[0].text.contains("2 events"), "{report:?}");
}

/// The story: what was mended for files of commands was not for those of events, which came at the
/// same time.
#[tokio::test]
async fn a_manifest_of_a_newer_version_is_not_damaged() {
    let (site, files) = files().await;
    let path = site.path(&manifest_of(&files[1]));
    let ours = fs::read_to_string(&path).unwrap();
    let newer = ours.replace("\"format\": 1", "\"format\": 2, \"key\": \"of another version\"");
    assert_ne!(newer, ours);
    fs::write(&path, newer).unwrap();
    let report = site.verified().await;
    assert_eq!(report.findings[0].code, "CF1126");
    let text = &report.findings[0].text;
    assert!(text.contains("format 2, which a newer Counterfoil wrote"), "{text}");
    assert!(!text.contains("damaged") && !text.contains("backup"), "{text}");
    let refused = site.run_watched(&site.options(), &Unwatched).await.unwrap_err();
    assert_eq!(refused.code(), "CF1111", "{refused}");
}

#[tokio::test]
async fn a_missing_or_foreign_manifest() {
    let (site, files) = files().await;
    let path = site.path(&manifest_of(&files[1]));
    let stands = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(site.findings().await, ["CF1126"]);
    site.run().await;
    site.is_sound().await;
    for (forged, code) in [
        ("{}".to_owned(), "CF1126"),
        (stands.replace("\"format\": 1", "\"format\": 2"), "CF1126"),
        (stands.replace("\"buried\"", "\"written\""), "CF1127"),
        (stands.replace("\"events\": 2", "\"events\": 3"), "CF1128"),
        (stands.replace("urn:counterfoil:memory", "urn:other"), "CF1125"),
    ] {
        assert_ne!(forged, stands);
        fs::write(&path, forged).unwrap();
        let found = site.findings().await;
        assert!(found.contains(&code), "{found:?} for {code}");
    }
    let refused = site.run_watched(&site.options(), &Unwatched).await.unwrap_err();
    assert_eq!(refused.code(), "CF1105", "{refused}");
    fs::write(&path, stands).unwrap();
    fs::copy(site.path(&files[0]), site.path("copy.events.jsonl.zst")).unwrap();
    assert_eq!(site.findings().await, ["CF1125"]);
}

#[tokio::test]
async fn rows_that_say_otherwise() {
    type Spoil = fn(&mut counterfoil_core::domain::EventRow);
    let spoils: [(Spoil, &[&str]); 6] = [
        (|it| it.kind = Kind::new("signal:other").unwrap(), &["CF1136"]),
        (|it| it.cause = None, &["CF1136"]),
        (|it| it.decided = Some("{}".into()), &["CF1136"]),
        (|it| it.archived.as_mut().unwrap().digest = Some(Digest::of(b"x")), &["CF1136"]),
        // No file of that name is there, and its own line has a row that lies elsewhere.
        (|it| it.archived.as_mut().unwrap().file = "x.events.jsonl.zst".into(), &["CF1138"]),
        // Its body is an empty one now.
        (|it| it.archived = None, &["CF1136"]),
    ];
    for (spoil, codes) in spoils {
        let (site, _) = files().await;
        let at = ("done".to_owned(), 2);
        site.store.with_rows(|rows| spoil(rows.events.get_mut(&at).unwrap()));
        assert_eq!(site.findings().await, codes);
    }
    let (site, files) = files().await;
    site.store.with_rows(|rows| rows.events.remove(&("done".to_owned(), 4)));
    assert_eq!(site.findings().await, ["CF1135"]);
    // A row that names a file which has no line of it.
    site.store.with_rows(|rows| {
        let event = rows.events.get_mut(&("runs".to_owned(), 1)).unwrap();
        event.archived.as_mut().unwrap().file.clone_from(&files[0]);
    });
    let report = site.verified().await;
    let found = report.findings.iter().find(|found| found.code == "CF1137").unwrap();
    assert_eq!((found.file.as_str(), &found.ids[..]), (files[0].as_str(), &["runs:1".into()][..]));
}
