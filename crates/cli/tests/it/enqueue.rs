//! `enqueue`: recorded, repeated, refused; ids and bodies of every kind.

use crate::program::{Desk, Said};

const TO: [&str; 4] = ["--to", "shipping", "--kind", "order.paid"];
const STORE: [&str; 2] = ["--store", "sqlite:orders.db"];

fn enqueue(desk: &Desk, id: &str, more: &[&str]) -> Said {
    desk.run(&[&["enqueue", id][..], &TO, &STORE, more].concat())
}

#[test]
fn the_same_again_is_repeated_and_other_content_exits_1() {
    let desk = Desk::new();
    assert_eq!(enqueue(&desk, "a", &["--body", "{}"]).is_done().out, "recorded\n");
    assert_eq!(enqueue(&desk, "a", &["--body", "{}"]).is_done().out, "repeated\n");
    let other = enqueue(&desk, "a", &["--body", "{\"hunter2\":1}"]);
    other.refuses(1, &["command a", "other content", "a new intent needs a new id"]);
    assert!(!other.err.contains("hunter2"), "an error never shows a body");
    assert_eq!(desk.orders("SELECT count(*) FROM counterfoil_outbox"), 1);
}

#[test]
fn a_body_comes_byte_for_byte_from_a_flag_a_file_or_standard_input() {
    let desk = Desk::new();
    let bytes = b"\0\xff line\r\n\0";
    desk.write("text", "两件\n");
    std::fs::write(desk.path("bytes"), bytes).unwrap();
    enqueue(&desk, "text", &["--body-file", "text"]).is_done();
    enqueue(&desk, "bytes", &["--body-file", "bytes"]).is_done();
    let args = [&["enqueue", "bare", "{}"][..], &TO, &STORE].concat();
    desk.run(&args).refuses(2, &["--body TEXT", "standard input"]);
    let args = [&["enqueue", "stdin", "-"][..], &TO, &STORE].concat();
    desk.run_with(&args, bytes).is_done();
    let args = [&["enqueue", "dash", "--body-file", "-"][..], &TO, &STORE].concat();
    desk.run_with(&args, "{}".as_bytes()).is_done();
    let stored = |id: &str, hex: &str, kind: &str| {
        let query = format!(
            "SELECT hex(body) = '{hex}' AND typeof(body) = '{kind}' FROM counterfoil_outbox \
             WHERE command_id = '{id}'"
        );
        assert_eq!(desk.orders(&query), 1, "{id}");
    };
    let hex = bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>();
    stored("text", "E4B8A4E4BBB60A", "text");
    stored("bytes", &hex, "blob");
    stored("stdin", &hex, "blob");
    stored("dash", "7B7D", "text");
}

#[test]
fn ids_in_chinese_and_emoji_are_ids() {
    let desk = Desk::new();
    for id in ["订单-1", "📦", "a b\"c%\\"] {
        assert_eq!(enqueue(&desk, id, &["--body", "{}"]).is_done().out, "recorded\n");
        assert_eq!(desk.show(id)["command_id"], id);
    }
    enqueue(&desk, "a\nb", &["--body", "1"]).refuses(1, &["command id", "control character"]);
    enqueue(&desk, "", &["--body", "1"]).refuses(1, &["command id is empty"]);
    let long = "é".repeat(128);
    enqueue(&desk, &long, &["--body", "1"]).refuses(1, &["256 bytes", "at most 255"]);
}

#[test]
fn no_body_is_an_error_and_never_a_wait() {
    let desk = Desk::new();
    enqueue(&desk, "a", &[]).refuses(2, &["no body", "--body TEXT", "--body-file", "`-`"]);
    enqueue(&desk, "a", &["--body-file", "none"]).refuses(2, &["none cannot be read"]);
    let both = enqueue(&desk, "a", &["--body", "1", "--body-file", "f"]);
    assert_eq!(both.code, Some(2), "{both:?}");
    assert_eq!(desk.orders("SELECT count(*) FROM counterfoil_outbox"), 0);
}

#[test]
fn what_is_missing_or_malformed_is_named() {
    let desk = Desk::new();
    let run = |args: &[&str]| desk.run(&[&["enqueue"], args, &STORE].concat());
    run(&["--to", "a", "--kind", "k", "--body", "1"]).refuses(2, &["id is missing"]);
    run(&["x", "--kind", "k", "--body", "1"]).refuses(2, &["--to DESTINATION is missing"]);
    run(&["x", "--to", "a", "--body", "1"]).refuses(2, &["--kind KIND is missing"]);
    let refused = |more: &[&str], code, words: &[&str]| {
        enqueue(&desk, "x", &[&["--body", "1"], more].concat()).refuses(code, words);
    };
    refused(&["--header", "X-Shop"], 2, &["\"X-Shop\" has no value", "NAME=VALUE"]);
    refused(&["--header", "Host=a"], 1, &["\"Host\"", "use another name"]);
    refused(&["--header", "Authorization=hunter2"], 1, &["\"Authorization\"", "credentials"]);
    refused(&["--at", "tomorrow"], 2, &["--at \"tomorrow\"", "RFC 3339"]);
    refused(&["--in", "10"], 2, &["--in \"10\"", "number and a unit"]);
    refused(&["--at", "1970-01-01T00:00:00Z"], 1, &["not_before", "microseconds"]);
    refused(&["--ordering-key", ""], 1, &["ordering key is empty"]);
    refused(&["--expires", "soon"], 2, &["--expires \"soon\"", "RFC 3339", "2h"]);
    refused(&["--expires", "2020-01-01T00:00:00Z"], 2, &["not after now", "never be sent"]);
    refused(&["--expires", "1h", "--in", "2h"], 2, &["not after --at or --in"]);
    assert_eq!(desk.orders("SELECT count(*) FROM counterfoil_outbox"), 0);
}

#[test]
fn a_body_over_the_limit_of_the_configuration_is_refused() {
    let desk = Desk::new();
    let limit = "[store]\nurl = \"sqlite:orders.db\"\n[relay]\nbody_bytes_max = \"10B\"\n";
    desk.write("counterfoil.toml", limit);
    let said = desk.run(&[&["enqueue", "a", "--body", "12345678901"][..], &TO].concat());
    said.refuses(1, &["command a", "11 bytes", "at most 10", "body_bytes_max"]);
    desk.run(&[&["enqueue", "a", "--body", "1234567890"][..], &TO].concat()).is_done();
}

#[test]
fn headers_type_and_time_are_stored() {
    let desk = Desk::new();
    let more = ["--body", "x", "--content-type", "text/plain", "--header", "X-Shop=7=8"];
    enqueue(&desk, "a", &[&more[..], &["--at", "2031-01-01T00:00:00+01:00"]].concat()).is_done();
    let shown = desk.show("a");
    assert_eq!(shown["content_type"], "text/plain");
    assert_eq!(shown["headers"], serde_json::json!({ "X-Shop": "7=8" }));
    assert_eq!(shown["not_before"], "2030-12-31T23:00:00Z");
    assert_eq!(shown["available_at"], "2030-12-31T23:00:00Z");
    enqueue(&desk, "b", &["--body", "x", "--in", "2h"]).is_done();
    assert!(desk.show("b")["not_before"].as_str() > desk.show("b")["recorded_at"].as_str());
}

#[test]
fn an_expiry_is_a_time_or_a_length_of_time() {
    let desk = Desk::new();
    enqueue(&desk, "a", &["--body", "x", "--expires", "2031-01-01T00:00:00Z"]).is_done();
    assert_eq!(desk.show("a")["expires_at"], "2031-01-01T00:00:00Z");
    enqueue(&desk, "b", &["--body", "x", "--expires", "2h"]).is_done();
    assert!(desk.show("b")["expires_at"].as_str() > desk.show("b")["recorded_at"].as_str());
    let told = desk.run(&[&["show", "a"][..], &STORE].concat());
    let words =
        ["its expiry: 2031-01-01T00:00:00Z", "if it still waits at 2031", "it ends, expired"];
    for word in words {
        assert!(told.is_done().out.contains(word), "{word}: {told:?}");
    }
}

/// The story: `--to shiping` said `recorded`, and the order waited until somebody looked.
#[test]
fn a_destination_that_is_not_configured_is_said_and_recorded_all_the_same() {
    let desk = Desk::new();
    desk.configure(9, "false", "");
    let what = ["enqueue", "a", "--kind", "k", "--body", "1", "--to"];
    let said = desk.run(&[&what[..], &["shiping"]].concat());
    assert_eq!(said.is_done().out, "recorded\n");
    for word in ["[destination.shiping]", "it has shipping"] {
        assert!(said.err.contains(word), "{said:?}");
    }
    let what = ["enqueue", "b", "--kind", "k", "--body", "1", "--to", "shipping"];
    assert!(desk.run(&what).is_done().err.is_empty());
}

#[test]
fn a_store_that_cannot_be_written_is_named_and_nothing_is_recorded() {
    let desk = Desk::new();
    let missing = desk.run(&[
        "enqueue",
        "a",
        "--to",
        "a",
        "--kind",
        "k",
        "--body",
        "1",
        "--store",
        "sqlite:none.db",
    ]);
    missing.refuses(2, &["none.db", "counterfoil init"]);
    assert!(!desk.path("none.db").exists());
}
