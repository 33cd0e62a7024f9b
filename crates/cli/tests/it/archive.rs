//! `archive`, `archive --verify` and `show --archive`: what they do, say and refuse.

use std::process::Command;

use rusqlite::config::DbConfig;
use serde_json::json;

use crate::program::{Desk, Said};

pub(crate) const STORE: [&str; 2] = ["--store", "sqlite:orders.db"];

pub(crate) fn run(desk: &Desk, args: &[&str]) -> Said {
    desk.run(&[args, &STORE].concat())
}

/// A store with these commands completed, and one that is open and the newest.
pub(crate) fn with_ended(ids: &[&str]) -> Desk {
    let desk = Desk::new();
    for id in ids {
        desk.enqueue(id);
        run(&desk, &["resolve", id, "--completed", "--result", "r", "--evidence", "by hand"])
            .is_done();
    }
    desk.enqueue("open");
    std::fs::create_dir(desk.path("old")).unwrap();
    desk
}

pub(crate) fn archived(desk: &Desk) -> Said {
    run(desk, &["archive", "--older-than", "0s", "--to", "old"])
}

fn verified(desk: &Desk) -> Said {
    run(desk, &["archive", "--verify", "old"])
}

pub(crate) fn file(desk: &Desk, end: &str) -> String {
    let files = std::fs::read_dir(desk.path("old")).unwrap();
    let mut names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.find(|name| name.ends_with(end)).unwrap()
}

#[test]
fn what_has_ended_is_moved_told_and_proved() {
    let desk = with_ended(&["a", "b"]);
    run(&desk, &["audit"]).is_done();
    let said = archived(&desk);
    let out = &said.is_done().out;
    let name = file(&desk, ".jsonl.zst");
    assert_eq!(*out, format!("2 commands moved into 1 file in old\n{name}: 2 commands\n"));
    assert!(said.err.is_empty(), "{said:?}");
    assert_eq!(desk.orders("SELECT count(*) FROM counterfoil_outbox"), 1);
    assert_eq!(desk.orders("SELECT count(*) FROM counterfoil_archived"), 2);
    let said = verified(&desk);
    let holds = "the archive holds: 1 file, 2 commands and 2 tombstones checked\n";
    assert_eq!(said.is_done().out, holds);
    run(&desk, &["audit"]).is_done();
    let status = run(&desk, &["status", "--json"]).json();
    assert_eq!(status["destinations"]["shipping"], json!({"completed": 2, "pending": 1}));
    assert_eq!(archived(&desk).is_done().out, "nothing to archive; old is as it was\n");
}

#[test]
fn machines_are_told_in_json() {
    let desk = with_ended(&["a"]);
    let told = run(&desk, &["archive", "--older-than", "0s", "--to", "old", "--json"]).json();
    let name = file(&desk, ".jsonl.zst");
    let one = json!({
        "file": name, "commands": 1, "moved": 1, "left": [], "elsewhere": [], "lost": [],
        "resumed": false,
    });
    assert_eq!((&told["moved"], &told["files"]), (&json!(1), &json!([one])));
    assert_eq!(told["violations"], json!([]));
    let told = run(&desk, &["archive", "--verify", "old", "--json"]).json();
    let holds = json!({
        "holds": true, "files": 1, "commands": 1, "tombstones": 1, "events": 0, "bodies": 0,
        "found": 0, "findings": [],
    });
    assert_eq!(told, holds);
}

#[test]
fn what_is_younger_stays() {
    let desk = with_ended(&["a"]);
    let said = run(&desk, &["archive", "--older-than", "30d", "--to", "old"]);
    assert_eq!(said.is_done().out, "nothing to archive; old is as it was\n");
}

#[test]
fn an_archived_command_is_shown_whole_where_its_file_is_at_hand() {
    let desk = with_ended(&["a"]);
    let before = desk.show("a");
    archived(&desk).is_done();
    let name = file(&desk, ".jsonl.zst");
    let bare = run(&desk, &["show", "a"]);
    for word in ["completed", "only its tombstone", &name, "--archive DIR", "it has ended"] {
        assert!(bare.is_done().out.contains(word), "{word}: {bare:?}");
    }
    for word in ["1970", "body", "attempt"] {
        assert!(!bare.out.contains(word), "{word}: {bare:?}");
    }
    let whole = run(&desk, &["show", "a", "--archive", "old"]);
    let words = [
        "archived in ",
        &name,
        "body (application/json): {} (2 bytes)",
        "recorded",
        "receipt of round 1: completed (by hand",
        "result r (1 byte)",
    ];
    for word in words {
        assert!(whole.is_done().out.contains(word), "{word}: {whole:?}");
    }
    desk.write(
        "counterfoil.toml",
        "[store]\nurl = \"sqlite:orders.db\"\n[archive]\ndir = \"old\"\n",
    );
    let mut shown = desk.run(&["show", "a", "--json"]).json();
    assert_eq!(shown["archive_file"], name.as_str());
    assert_eq!((&shown["archived"], &shown["archive_compared"]), (&json!(true), &json!("same")));
    for key in ["archive_file", "archive_compared", "archived"] {
        shown[key] = before[key].clone();
    }
    assert_eq!(shown, before, "the whole story, as before");
    desk.run(&["archive", "--older-than", "0s"]).is_done();
}

#[test]
fn a_file_that_is_away_or_damaged_hides_nothing_of_the_store() {
    let desk = with_ended(&["a"]);
    archived(&desk).is_done();
    let name = file(&desk, ".jsonl.zst");
    let bytes = std::fs::read(desk.path("old").join(&name)).unwrap();
    std::fs::write(desk.path("old").join(&name), &bytes[..20]).unwrap();
    let said = run(&desk, &["show", "a", "--archive", "old"]);
    assert!(said.out.contains("damaged") && said.out.contains("completed"), "{said:?}");
    assert!(said.code == Some(1) && said.out.contains("NOT WHAT ITS MANIFEST SAYS"), "{said:?}");
    let said = verified(&desk);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.out.contains("does not hold") && said.out.contains("CF1122"), "{said:?}");
    std::fs::remove_file(desk.path("old").join(&name)).unwrap();
    let said = run(&desk, &["show", "a", "--archive", "old"]);
    assert!(said.is_done().out.contains("not in the folder"), "{said:?}");
    assert!(verified(&desk).out.contains("CF1121"));
}

#[test]
fn what_cannot_be_is_refused_with_the_way_out() {
    let desk = with_ended(&["a"]);
    let none = run(&desk, &["archive", "--older-than", "0s", "--to", "none"]);
    none.refuses(2, &["there is no folder none", "create it", "CF1101"]);
    run(&desk, &["archive", "--older-than", "0s"]).refuses(2, &["--to DIR", "[archive] dir"]);
    let age = run(&desk, &["archive", "--older-than", "soon", "--to", "old"]);
    age.refuses(2, &["--older-than \"soon\""]);
    assert_eq!(run(&desk, &["archive"]).code, Some(2));
    let both = ["archive", "--older-than", "1d", "--to", "old", "--verify", "old"];
    assert_eq!(run(&desk, &both).code, Some(2));
    run(&desk, &["archive", "--verify", "none"]).refuses(2, &["none"]);
    run(&desk, &["show", "a", "--archive", "none"]).refuses(2, &["no folder none"]);
    desk.write("c.toml", "[archive]\ndir = \"\"\n");
    run(&desk, &["show", "a", "--config", "c.toml"]).refuses(2, &["archive.dir", "name a folder"]);
    desk.write("c.toml", "[archive]\nfolder = \"old\"\n");
    run(&desk, &["show", "a", "--config", "c.toml"]).refuses(2, &["folder"]);
    assert_eq!(desk.orders("SELECT count(*) FROM counterfoil_archived"), 0);
}

#[test]
fn another_stores_folder_is_refused() {
    let desk = with_ended(&["a"]);
    archived(&desk).is_done();
    let other = ["init", "--store", "sqlite:other.db", "--source", "urn:other"];
    desk.run(&other).is_done();
    let args = ["archive", "--older-than", "0s", "--to", "old", "--store", "sqlite:other.db"];
    desk.run(&args).refuses(1, &["urn:test", "urn:other", "a folder is one store's"]);
}

/// Changes a store as only who goes around its triggers can.
fn forge(desk: &Desk, change: &str) {
    let own = rusqlite::Connection::open(desk.path("orders.db")).unwrap();
    own.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).unwrap();
    assert_eq!(own.execute(change, []).unwrap(), 1);
}

#[test]
fn a_tombstone_without_its_own_digest_is_found() {
    let desk = with_ended(&["a"]);
    archived(&desk).is_done();
    forge(&desk, "UPDATE counterfoil_archived SET row_digest = NULL");
    let said = verified(&desk);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.out.contains("CF1132") && said.out.contains("has no digest"), "{said:?}");
}

/// A command whose body was changed behind the store's back is evidence.
#[test]
fn what_breaks_a_law_stays_and_exits_1() {
    let desk = with_ended(&["a"]);
    let (_receiver, port) = desk.receiver(&[]);
    desk.configure(port, "\"forever\"", "");
    desk.run(&["relay", "--until-idle"]).is_done();
    desk.enqueue("newest");
    forge(&desk, "UPDATE counterfoil_outbox SET body = '[]' WHERE command_id = 'open'");
    let said = archived(&desk);
    assert_eq!(said.code, Some(1), "{said:?}");
    for word in ["1 command moved", "1 command stayed, as the laws are broken", "CF0808"] {
        assert!(said.out.contains(word), "{word}: {said:?}");
    }
}

#[test]
fn a_full_disk_loses_nothing_and_the_next_run_goes_on() {
    let desk = Desk::empty();
    let script = r#"
        "$1" init --store sqlite:o.db >/dev/null
        mkdir full; mount -t tmpfs -o size=256k none full
        n=0
        while [ $n -lt 12 ]
        do head -c 60000 /dev/urandom | base64 -w0 |
            "$1" enqueue c-$n - --to a --kind k --store sqlite:o.db >/dev/null
           "$1" resolve c-$n --completed --evidence e --store sqlite:o.db >/dev/null
           n=$((n+1)); done
        echo x | "$1" enqueue open - --to a --kind k --store sqlite:o.db >/dev/null
        set +e
        "$1" archive --older-than 0s --to full --store sqlite:o.db >out 2>refused; echo "archive $?"
        ls full | grep -v lock
        "$1" audit --store sqlite:o.db >/dev/null; echo "audit $?"
        mount -o remount,size=4m full
        "$1" archive --older-than 0s --to full --store sqlite:o.db >/dev/null; echo "again $?"
        "$1" archive --verify full --store sqlite:o.db; echo "verify $?"
    "#;
    let out = crate::disk::where_mounting_is_allowed(&desk, script);
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines[..3], ["archive 2", "audit 0", "again 0"], "{out}");
    assert!(lines[3].starts_with("the archive holds: 1 file, 12 commands"), "{out}");
    assert_eq!(lines[4], "verify 0", "{out}");
    let refused = std::fs::read_to_string(desk.path("refused")).unwrap();
    assert!(refused.contains("the disk is full") && refused.contains("make room"), "{refused}");
}

#[test]
fn a_read_only_archive_is_verified_and_not_written() {
    let desk = Desk::empty();
    let script = r#"
        "$1" init --store sqlite:o.db >/dev/null; mkdir old
        for id in a b; do echo x | "$1" enqueue $id - --to a --kind k --store sqlite:o.db >/dev/null
        done
        "$1" resolve a --completed --evidence e --store sqlite:o.db >/dev/null
        "$1" archive --older-than 0s --to old --store sqlite:o.db >/dev/null
        mount --bind old old; mount -o remount,ro,bind old
        set +e
        "$1" archive --verify old --store sqlite:o.db >/dev/null; echo "verify $?"
        "$1" archive --older-than 0s --to old --store sqlite:o.db 2>said; echo "archive $?"
        "$1" show a --archive old --store sqlite:o.db | grep -c 'archived in'
    "#;
    let out = crate::disk::where_mounting_is_allowed(&desk, script);
    assert_eq!(out, "verify 0\narchive 2\n1\n");
    let said = std::fs::read_to_string(desk.path("said")).unwrap();
    assert!(said.contains("old/counterfoil.lock cannot be written"), "{said}");
}

/// A relay writes while commands leave, and every one of them is somewhere.
#[test]
fn writers_go_on_while_it_runs() {
    let ids: Vec<String> = (0..40).map(|at| format!("c-{at}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let desk = with_ended(&ids);
    let mut runs: Vec<_> = (0..3)
        .map(|_| {
            let args = ["archive", "--older-than", "0s", "--to", "old"];
            let mut command: Command = desk.command(&[&args[..], &STORE].concat());
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    for at in 0..10 {
        desk.enqueue(&format!("new-{at}"));
    }
    let codes: Vec<_> = runs.iter_mut().map(|run| run.wait().unwrap().code()).collect();
    assert!(codes.contains(&Some(0)), "{codes:?}");
    assert!(codes.iter().all(|code| [Some(0), Some(2)].contains(code)), "{codes:?}");
    assert_eq!(desk.orders("SELECT count(*) FROM counterfoil_archived"), 40);
    assert_eq!(desk.orders("SELECT count(*) FROM counterfoil_outbox"), 11);
    verified(&desk).is_done();
    run(&desk, &["audit"]).is_done();
}

/// What a command is, but for its id.
fn core_of(desk: &Desk, id: &str) -> (Vec<u8>, String, Option<String>, Option<String>) {
    let own = rusqlite::Connection::open(desk.path("orders.db")).unwrap();
    let sql = "SELECT CAST(body AS BLOB), content_type, headers, ordering_key \
               FROM counterfoil_outbox WHERE command_id = ?1";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    own.query_row(sql, [id], read).unwrap()
}

/// The recipe of docs/archive.md, as it stands there.
#[test]
fn what_is_restored_by_hand_is_the_same_command() {
    let desk = with_ended(&[]);
    std::fs::write(desk.path("bytes"), [0xff, 0x00, 0xfe, b'\n']).unwrap();
    std::fs::write(desk.path("text"), "\u{e9}\n\"quoted\"\n").unwrap();
    let text = include_str!("../../../../docs/archive.md");
    let recipe = text.split("## Restore by hand").nth(1).unwrap();
    let recipe = recipe.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    for id in ["bytes", "text"] {
        let what = ["enqueue", id, "--to", "shipping", "--kind", "k", "--body-file", id];
        let more = ["--content-type", "a/b", "--header", "X-A=1", "--ordering-key", "lane"];
        run(&desk, &[&what[..], &more].concat()).is_done();
        let ends = ["resolve", id, "--completed", "--evidence", "by hand"];
        run(&desk, &ends).is_done();
    }
    desk.enqueue("newest");
    let were = ["bytes", "text"].map(|id| core_of(&desk, id));
    archived(&desk).is_done();
    let name = format!("old/{}", file(&desk, ".jsonl.zst"));
    for (id, was) in ["bytes", "text"].into_iter().zip(were) {
        let own = format!("'{}'", env!("CARGO_BIN_EXE_counterfoil"));
        let script = recipe.replace("order.paid:A-17", id).replace("FILE.jsonl.zst", &name);
        let script = script.replace("counterfoil", &own) + " --store sqlite:orders.db";
        let script = script.replace("--from -\n", "--from -");
        let said = Command::new("sh").args(["-c", &script]).current_dir(desk.path(".")).output();
        let said = said.unwrap();
        assert!(said.status.success(), "{script}: {said:?}");
        assert_eq!(core_of(&desk, &format!("{id}-again")), was);
    }
}

/// The story: somebody wrote another result into an archived file, and `show` told it as the
/// receipt.
#[test]
fn a_file_that_is_not_what_its_manifest_says_is_called_so_and_one_without_a_manifest() {
    let desk = with_ended(&["a"]);
    archived(&desk).is_done();
    let path = desk.path("old").join(file(&desk, ".jsonl.zst"));
    let mut bytes = std::fs::read(&path).unwrap();
    let whole = bytes.clone();
    // A frame that is skipped: every line reads as before.
    bytes.extend([0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, b'x']);
    std::fs::write(&path, bytes).unwrap();
    let said = run(&desk, &["show", "a", "--archive", "old"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.out.contains("THIS FILE IS NOT WHAT ITS MANIFEST SAYS"), "{said:?}");
    let told = run(&desk, &["show", "a", "--archive", "old", "--json"]);
    assert_eq!((told.code, told.out.contains("\"archive_compared\":\"differs\"")), (Some(1), true));
    std::fs::write(&path, whole).unwrap();
    std::fs::remove_file(desk.path("old").join(file(&desk, ".manifest.json"))).unwrap();
    let said = run(&desk, &["show", "a", "--archive", "old"]);
    let words = ["was not compared with its manifest", "it has no manifest", "result r"];
    words.iter().for_each(|word| assert!(said.is_done().out.contains(word), "{word}: {said:?}"));
}

/// The story: a backup of the store was put back that was older than an archive run, and the run's
/// manifest was lost. `archive` said "3 left in the store" with exit code 0, and from then on every
/// verification and audit held, while the commands were in no table.
#[test]
fn what_a_restored_store_lacks_is_found_lost_and_not_left() {
    let desk = with_ended(&["early"]);
    let copied = rusqlite::Connection::open(desk.path("orders.db")).unwrap();
    copied.execute("VACUUM INTO ?1", [desk.path("copy.db").to_str().unwrap()]).unwrap();
    drop(copied);
    for id in ["late-1", "late-2", "late-3"] {
        desk.enqueue(id);
        run(&desk, &["resolve", id, "--completed", "--evidence", "by hand"]).is_done();
    }
    desk.enqueue("newest");
    archived(&desk).is_done();
    std::fs::remove_file(desk.path("old").join(file(&desk, ".manifest.json"))).unwrap();
    for end in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(desk.path(&format!("orders.db{end}")));
    }
    std::fs::copy(desk.path("copy.db"), desk.path("orders.db")).unwrap();
    run(&desk, &["restored", "--at", "0s", "--yes"]).is_done();
    let before = verified(&desk);
    assert!(before.code == Some(1) && before.out.contains("CF1126"), "{before:?}");
    assert!(before.out.contains("CF1130") && before.out.contains("late-1"), "{before:?}");
    let said = archived(&desk);
    assert_eq!(said.code, Some(1), "{said:?}");
    let lost = "3 of its commands are in no table of the store, such as late-1";
    assert!(said.out.contains("CF1130") && said.out.contains(lost), "{said:?}");
    assert!(!said.out.contains("left in the store"), "{said:?}");
    let after = verified(&desk);
    assert_eq!((after.code, after.out.matches("CF1130").count()), (Some(1), 3), "{after:?}");
}
