//! A workflow's events that move into the archive and back, by the program, on both databases.
//!
//! Guarantees: nothing that is archived is shown as empty, nor called verified. Does not: run a
//! program; its events are written by hand.

use crate::workflow::Books;

/// The body of both events: longer than what stays.
fn body() -> String {
    format!("{{\"to\":\"Rome\",\"note\":\"{}\"}}", "x".repeat(150))
}

fn ended(books: &Books) {
    let body = body();
    books.forge(&format!(
        "INSERT INTO cf.stream(stream, workflow, version, status, head, changed_at) \
         VALUES ('t-1', 'trip', 1, 'completed', 2, 1764421200000000); \
         INSERT INTO cf.event(stream, seq, kind, body, cause, commands, recorded_at, decided) \
         VALUES ('t-1', 1, 'start:trip', '{body}', 'start', 0, 1764421200000000, NULL), \
         ('t-1', 2, 'signal:over', '{body}', 'over', 0, 1764421200000000, \
          '{{\"end\":{{\"completed\":1}}}}')"
    ));
    std::fs::create_dir(books.desk.path("old")).unwrap();
}

const ARCHIVE: [&str; 5] = ["archive", "--older-than", "1d", "--to", "old"];

/// A program that takes every history for right.
const READS: [&str; 4] = ["--", "sh", "-c", "cat > /dev/null"];

fn moved_shown_and_brought_back(books: &Books) {
    ended(books);
    let said = books.run(&ARCHIVE).is_done().out.clone();
    assert!(said.starts_with("2 bodies of events moved into 1 file in old\n"), "{said}");
    assert!(said.contains("-1-2.events.jsonl.zst: 2 events"), "{said}");
    let again = books.run(&[&ARCHIVE[..], &["--json"]].concat()).json();
    assert_eq!((&again["moved"], &again["bodies"]["moved"]), (&0.into(), &0.into()));
    let proved = books.run(&["archive", "--verify", "old", "--json"]).json();
    let counts = (&proved["holds"], &proved["events"], &proved["bodies"]);
    assert_eq!(counts, (&true.into(), &2.into(), &2.into()), "{proved}");
    let proved = books.run(&["archive", "--verify", "old"]).is_done().out.clone();
    assert!(proved.contains("2 lines, and 2 bodies of events that lie in files"), "{proved}");
    books.run(&["audit", "--full"]).is_done();

    // Never an empty body.
    let told = books.run(&["workflow", "show", "t-1"]).is_done().out.clone();
    assert!(told.contains(".events.jsonl.zst: name its folder by --archive DIR)"), "{told}");
    let told = books.run(&["workflow", "show", "t-1", "--json"]).json();
    let event = &told["events"][0];
    assert!(event["body"].is_null() && event["archived"].is_string(), "{told}");
    let told = books.run(&["workflow", "show", "t-1", "--archive", "old", "--json"]).json();
    let event = &told["events"][1];
    assert!(event["archived"].is_null(), "{told}");
    assert_eq!(event["body"], body());

    // The same start is known by its digest.
    let start =
        |body: &str| books.run(&["workflow", "start", "t-1", "--workflow", "trip", "--body", body]);
    assert_eq!(start(&body()).is_done().out, "repeated\n");
    start("{}").refuses(1, &["input start of workflow t-1 stands with other content"]);

    let recall = ["workflow", "recall", "t-1", "--reason", "version 2", "--actor", "ann"];
    books.run(&recall).refuses(1, &["event 1 of workflow t-1 is archived in", "CF1112"]);
    let recall = [&recall[..], &["--archive", "old"]].concat();
    let said = books.run(&recall).is_done().out.clone();
    assert!(said.starts_with("t-1: 2 bodies came back"), "{said}");
    let said = books.run(&recall).is_done().out.clone();
    assert_eq!(said, "t-1: none of its bodies is archived\n");
    books.run(&["workflow", "recall", "t-9"]).refuses(1, &["no workflow \"t-9\""]);
    let told = books.run(&["workflow", "show", "t-1", "--json"]).json();
    assert_eq!(told["events"][0]["body"], body());
    books.run(&["archive", "--verify", "old"]).is_done();
    books.run(&["audit", "--full"]).is_done();
    let again = books.run(&[&ARCHIVE[..], &["--json"]].concat()).json();
    assert_eq!(again["bodies"]["moved"], 2, "and it leaves again");
}

fn never_verified_without_its_file(books: &Books) {
    ended(books);
    books.run(&ARCHIVE).is_done();
    let export = ["workflow", "verify", "--export", "-"];
    let said = books.run(&export);
    // A whole file, of none: what cannot be decided again is not in it.
    let none = "{\"end\":{\"workflows\":0}}\n";
    assert_eq!((said.code, said.out.as_str()), (Some(1), none), "{said:?}");
    assert!(said.err.contains("CF1212") && said.err.contains("it was left out"), "{said:?}");
    let judged = books.run(&[&["workflow", "verify"][..], &READS].concat());
    assert_eq!(judged.code, Some(1), "{judged:?}");
    let said = books.run(&[&export[..], &["--archive", "old"]].concat()).is_done().out.clone();
    assert_eq!(said.matches("Rome").count(), 2, "{said}");
    let whole = [&["workflow", "verify", "t-1", "--archive", "old"][..], &READS].concat();
    books.run(&whole).is_done();
    // The configuration names the folder for good.
    std::fs::write(books.desk.path("counterfoil.toml"), "[archive]\ndir = \"old\"\n").unwrap();
    books.run(&[&["workflow", "verify"][..], &READS].concat()).is_done();
    // A file that rotted is no file.
    let file = std::fs::read_dir(books.desk.path("old")).unwrap();
    let file = file.map(|file| file.unwrap().path());
    let is_lines = |path: &std::path::PathBuf| path.to_string_lossy().ends_with(".jsonl.zst");
    let file = file.into_iter().find(is_lines).unwrap();
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let said = books.run(&whole);
    assert_eq!(said.code, Some(2), "{said:?}");
    let proved = books.run(&["archive", "--verify", "old"]);
    assert!(proved.code == Some(1) && proved.out.contains("CF1122"), "{proved:?}");
    let recall = ["workflow", "recall", "t-1", "--archive", "old"];
    books.run(&recall).refuses(2, &["CF1107"]);
}

on_both_stores! {
    moved_shown_and_brought_back
    never_verified_without_its_file
}
