//! Each kind of damage to an archive, and the code that it is found by.

use std::fs;

use crate::scene::{Site, ids, in_memory};
use counterfoil_archive::Unwatched;
use counterfoil_core::port::archive::Archive;
use counterfoil_testkit::MemoryStore;

/// Three files of two commands each, all sound.
async fn three_files() -> (Site<MemoryStore>, Vec<String>) {
    let site = in_memory().with(ids(6)).await;
    site.run_watched(&site.options().file_commands(2), &Unwatched).await.unwrap();
    site.is_sound().await;
    let files = site.files(".jsonl.zst");
    assert_eq!(files.len(), 3);
    (site, files)
}

fn manifest_of(file: &str) -> String {
    file.replace(".jsonl.zst", ".manifest.json")
}

#[tokio::test]
async fn a_truncated_file() {
    let (site, files) = three_files().await;
    let path = site.path(&files[1]);
    let bytes = fs::read(&path).unwrap();
    for keep in [0, 1, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&path, &bytes[..keep]).unwrap();
        assert_eq!(site.findings().await, ["CF1122"], "{keep} bytes");
    }
    assert_eq!(site.verified().await.findings[0].file, files[1]);
}

#[tokio::test]
async fn a_flipped_bit() {
    let (site, files) = three_files().await;
    let path = site.path(&files[0]);
    let bytes = fs::read(&path).unwrap();
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        fs::write(&path, &flipped).unwrap();
        assert_eq!(site.findings().await, ["CF1123"], "at byte {at}");
    }
    fs::write(&path, [&bytes[..], b"x"].concat()).unwrap();
    assert_eq!(site.findings().await, ["CF1123"], "a byte too many");
}

#[tokio::test]
async fn swapped_files() {
    let (site, files) = three_files().await;
    let (one, two) = (site.path(&files[0]), site.path(&files[2]));
    let (first, second) = (fs::read(&one).unwrap(), fs::read(&two).unwrap());
    fs::write(&one, second).unwrap();
    fs::write(&two, first).unwrap();
    assert_eq!(site.findings().await, ["CF1124", "CF1124"]);
    let (a, b) = (site.path(&manifest_of(&files[0])), site.path(&manifest_of(&files[2])));
    let (first, second) = (fs::read(&a).unwrap(), fs::read(&b).unwrap());
    fs::write(&a, second).unwrap();
    fs::write(&b, first).unwrap();
    assert_eq!(site.findings().await, ["CF1124", "CF1124"], "with their manifests");
}

#[tokio::test]
async fn a_missing_file() {
    let (site, files) = three_files().await;
    fs::rename(site.path(&files[1]), site.path("aside")).unwrap();
    assert_eq!(site.findings().await, ["CF1121"]);
    fs::remove_file(site.path(&manifest_of(&files[1]))).unwrap();
    let report = site.verified().await;
    assert_eq!(report.findings[0].code, "CF1133");
    assert!(report.findings[0].text.contains("2 tombstones"), "{report:?}");
}

#[tokio::test]
async fn a_missing_manifest() {
    let (site, files) = three_files().await;
    let path = site.path(&manifest_of(&files[1]));
    fs::remove_file(&path).unwrap();
    assert_eq!(site.findings().await, ["CF1126"]);
    site.run().await;
    site.is_sound().await;
    fs::write(&path, "{}").unwrap();
    assert_eq!(site.findings().await, ["CF1126"]);
    let refused = site.run_watched(&site.options(), &Unwatched).await.unwrap_err();
    assert_eq!(refused.code(), "CF1107", "{refused}");
    let newer = fs::read_to_string(site.path(&manifest_of(&files[0]))).unwrap();
    fs::write(&path, newer.replace("\"format\": 1", "\"format\": 2")).unwrap();
    assert_eq!(site.findings().await, ["CF1126"]);
}

/// The story: after an upgrade that was taken back, a folder's newest files were called damaged,
/// and people brought older ones back from a backup.
#[tokio::test]
async fn a_manifest_of_a_newer_version_is_not_damaged() {
    let (site, files) = three_files().await;
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
    assert!(refused.to_string().contains("use the newer program"), "{refused}");
}

#[tokio::test]
async fn a_foreign_file() {
    let (site, files) = three_files().await;
    fs::write(site.path("notes.txt"), "anybody's").unwrap();
    assert_eq!(site.findings().await, [""; 0], "what is no archive's is nobody's business");
    fs::copy(site.path(&files[0]), site.path("copy.jsonl.zst")).unwrap();
    assert_eq!(site.findings().await, ["CF1125"]);
    fs::remove_file(site.path("copy.jsonl.zst")).unwrap();
    let other = files[0].replacen(&files[0][24..32], "00000000", 1);
    fs::copy(site.path(&files[0]), site.path(&other)).unwrap();
    assert_eq!(site.findings().await, ["CF1125"]);
}

/// Writes a file anew with the manifest that fits it, as who forges one would.
fn forge(site: &Site<MemoryStore>, file: &str, change: impl Fn(String) -> String) {
    let path = site.path(file);
    let mut lines = counterfoil_archive::Lines::open(&path).unwrap();
    let mut text = String::new();
    while let Some(line) = lines.line().unwrap() {
        text.push_str(&String::from_utf8(line).unwrap());
        text.push('\n');
    }
    let text = change(text);
    let bytes = zstd::encode_all(text.as_bytes(), 1).unwrap();
    fs::write(&path, &bytes).unwrap();
    let digest = |bytes: &[u8]| counterfoil_core::domain::Digest::of(bytes).to_hex();
    let manifest = site.path(&manifest_of(file));
    let mut json: serde_json::Value =
        serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    json["compressed"] = serde_json::json!({"bytes": bytes.len(), "sha256": digest(&bytes)});
    json["lines"] = serde_json::json!({"bytes": text.len(), "sha256": digest(text.as_bytes())});
    fs::write(&manifest, json.to_string()).unwrap();
}

#[tokio::test]
async fn a_forged_line_is_found_by_its_digest_and_its_tombstone() {
    let (site, files) = three_files().await;
    forge(&site, &files[0], |text| text.replace("body of c-0001", "body of c-000X"));
    assert_eq!(site.findings().await[0], "CF1129", "not what its own digest says");
    let (site, files) = three_files().await;
    forge(&site, &files[0], |text| {
        let entry = |line: &str| counterfoil_archive::decode(line.as_bytes()).unwrap();
        let forged = text.lines().map(|line| {
            let mut entry = entry(line);
            entry.outbox.body = b"forged".to_vec();
            String::from_utf8(counterfoil_archive::encode(&entry)).unwrap()
        });
        forged.collect()
    });
    assert_eq!(site.findings().await, ["CF1132", "CF1132"], "its digest fits, its tombstone not");
    let (site, files) = three_files().await;
    forge(&site, &files[0], |text| {
        text.replace("\"outcome\":\"completed\"", "\"outcome\":\"rejected\"")
    });
    assert_eq!(site.findings().await, ["CF1132", "CF1132"]);
}

#[tokio::test]
async fn lines_that_are_missing_or_too_many() {
    let (site, files) = three_files().await;
    forge(&site, &files[0], |text| text.lines().take(1).map(|it| format!("{it}\n")).collect());
    let report = site.verified().await;
    let codes: Vec<_> = report.findings.iter().map(|it| it.code).collect();
    assert_eq!(codes, ["CF1128", "CF1131"]);
    assert_eq!(report.findings[1].ids, ["c-0001"]);
    let text = &report.findings[1].text;
    assert!(text.contains(", such as c-0001: bring"), "{text}");
}

#[tokio::test]
async fn lines_that_are_out_of_order() {
    let (site, files) = three_files().await;
    forge(&site, &files[0], |text| {
        let mut lines: Vec<_> = text.lines().collect();
        lines.reverse();
        lines.iter().map(|it| format!("{it}\n")).collect()
    });
    assert_eq!(site.findings().await, ["CF1128"]);
}

#[tokio::test]
async fn a_tombstone_that_is_gone_or_changed() {
    let (site, _) = three_files().await;
    site.store.with_rows(|rows| rows.archived.remove("c-0003"));
    let report = site.verified().await;
    assert_eq!((report.findings[0].code, &report.findings[0].ids[0][..]), ("CF1130", "c-0003"));
    let (site, files) = three_files().await;
    site.store.with_rows(|rows| rows.archived.get_mut("c-0000").unwrap().rounds = 2);
    assert_eq!(site.findings().await, ["CF1132"]);
    let text = &site.verified().await.findings[0].text;
    assert!(
        text.ends_with("command c-0000: its line has other rounds than its tombstone"),
        "{text}"
    );
    let (site, _) = three_files().await;
    site.store.with_rows(|rows| rows.archived.get_mut("c-0000").unwrap().file = files[2].clone());
    assert!(site.findings().await.contains(&"CF1132"), "its line is in another file");
}

#[tokio::test]
async fn what_a_dead_run_left_is_told_and_not_touched() {
    let site = in_memory().with(ids(3)).await;
    let name = "20260101T000000.000000Z-00000000-1-0.jsonl.zst.part";
    fs::write(site.path(name), "x").unwrap();
    assert_eq!(site.findings().await, ["CF1127"]);
    assert_eq!(site.files(".part"), [name]);
    fs::write(site.path("mine.part"), "x").unwrap();
    site.run().await;
    assert_eq!(site.files(".part"), ["mine.part"], "another program's is not ours to remove");
    assert_eq!(site.findings().await, [""; 0], "nor is a run said to remove it");
}

#[tokio::test]
async fn a_name_that_only_ends_as_ours_stops_nothing() {
    let site = in_memory().with(ids(3)).await;
    for name in ["gdpr.erase.json", "old.manifest.next.json"] {
        fs::write(site.path(name), "somebody's own list").unwrap();
    }
    assert_eq!(site.run().await.buried(), 3);
    site.erase("c-0001", &Unwatched).await.unwrap();
    assert_eq!(site.findings().await, ["CF1125", "CF1125"]);
    assert_eq!((site.files(".erase.json").len(), site.files(".next.json").len()), (1, 1));
}

#[tokio::test]
async fn a_folder_that_is_given_twice_is_looked_at_once() {
    let (site, _) = three_files().await;
    let again = counterfoil_archive::Folder::new(site.path(".")).unwrap();
    let report = counterfoil_archive::verify(&site.store, &[site.folder(), again], 9).await;
    let report = report.unwrap();
    assert_eq!((report.files, report.holds), (3, true), "{report:?}");
}

#[tokio::test]
async fn findings_are_counted_beyond_those_that_are_kept() {
    let (site, _) = three_files().await;
    site.store.with_rows(|rows| rows.archived.clear());
    let report = counterfoil_archive::verify(&site.store, &[site.folder()], 2).await.unwrap();
    assert_eq!((report.found, report.findings.len(), report.holds), (6, 2, false));
    assert_eq!(site.store.tombstones(None, 9).await.unwrap(), []);
}

/// The manifest of a file, changed by a hand.
fn edit(site: &Site<MemoryStore>, file: &str, key: &str, value: serde_json::Value) {
    let path = site.path(&manifest_of(file));
    let mut json: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    json[key] = value;
    fs::write(&path, json.to_string()).unwrap();
}

/// Finds no row and no tombstone of this any more.
fn lose(site: &Site<MemoryStore>, id: &str) {
    assert!(site.store.with_rows(|rows| rows.archived.remove(id)).is_some());
}

/// The story: a store came back from a backup of before an archive run, whose manifest was gone.
/// The next run called the commands "left in the store"; from then on every verification held, and
/// they were nowhere.
#[tokio::test]
async fn what_the_store_has_lost_is_not_called_left() {
    let (site, files) = three_files().await;
    fs::remove_file(site.path(&manifest_of(&files[1]))).unwrap();
    for id in ["c-0002", "c-0003"] {
        lose(&site, id);
    }
    assert_eq!(site.findings().await, ["CF1126", "CF1130", "CF1130"], "before the next run, too");
    let report = site.run().await;
    assert_eq!((report.lost(), report.buried()), (2, 0));
    assert_eq!((&report.files[0].lost[..], report.files[0].left.len()), (&ids_of(2..4)[..], 0));
    assert_eq!(site.manifest(1)["left"], serde_json::json!([]));
    let report = site.verified().await;
    let codes: Vec<_> = report.findings.iter().map(|it| it.code).collect();
    assert_eq!(codes, ["CF1130", "CF1130"]);
    let text = &report.findings[0].text;
    assert!(text.contains("c-0002") && text.contains("the store has lost it"), "{text}");
}

fn ids_of(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|at| format!("c-{at:04}")).collect()
}

/// The same by a hand that takes the tombstone away and writes the manifest to fit.
#[tokio::test]
async fn no_word_of_a_manifest_hides_what_the_store_has_lost() {
    let (site, files) = three_files().await;
    lose(&site, "c-0003");
    edit(&site, &files[1], "left", serde_json::json!(["c-0003"]));
    assert_eq!(site.findings().await, ["CF1130"]);
    let (site, files) = three_files().await;
    lose(&site, "c-0003");
    edit(&site, &files[1], "stage", serde_json::json!("written"));
    assert_eq!(site.findings().await, ["CF1127", "CF1130"]);
    assert_eq!(site.run().await.files[0].lost, ids_of(3..4));
    assert_eq!(site.findings().await, ["CF1130"]);
}

/// A file without a manifest may be damaged as well.
#[tokio::test]
async fn a_broken_file_without_a_manifest_is_two_findings() {
    let (site, files) = three_files().await;
    fs::remove_file(site.path(&manifest_of(&files[1]))).unwrap();
    let bytes = fs::read(site.path(&files[1])).unwrap();
    fs::write(site.path(&files[1]), &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(site.findings().await, ["CF1126", "CF1123"]);
}

/// The story: somebody made a folder under the name of a manifest, and no file was verified.
#[tokio::test]
async fn a_folder_in_the_place_of_a_manifest_is_one_finding() {
    let (site, files) = three_files().await;
    let path = site.path(&manifest_of(&files[1]));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let report = site.verified().await;
    let codes: Vec<_> = report.findings.iter().map(|it| it.code).collect();
    assert_eq!((codes, report.files, report.commands), (vec!["CF1126"], 3, 6));
    assert!(report.findings[0].text.contains("it is a folder"), "{report:?}");
}

/// Receipts, attempts and acts of an archived command have no witness but the manifest.
#[tokio::test]
async fn who_looks_at_a_file_hears_whether_it_is_what_was_written() {
    use counterfoil_archive::{Compared, look};
    let (site, files) = three_files().await;
    let looked = |id: &str| look(&site.folder(), &files[0], id).unwrap().unwrap();
    assert_eq!(looked("c-0001").compared, Compared::Same);
    assert!(looked("c-0001").entry.is_some() && looked("c-0009").entry.is_none());
    let path = site.path(&manifest_of(&files[0]));
    let manifest = fs::read(&path).unwrap();
    forge(&site, &files[0], |text| text.replace("HTTP 200", "FORGED"));
    fs::write(&path, &manifest).unwrap();
    let forged = looked("c-0001");
    assert_eq!((forged.entry.is_some(), forged.compared), (true, Compared::Differs));
    fs::remove_file(&path).unwrap();
    assert!(matches!(looked("c-0001").compared, Compared::Not(why) if why.contains("no manifest")));
}
