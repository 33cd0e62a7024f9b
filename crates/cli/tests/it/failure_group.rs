//! `list --groups`: failures that are one failure are one line.
//!
//! Guarantees: the reasons are those that a real relay wrote down from real answers. Does not:
//! understand them.

use serde_json::Value;

use crate::answers::answers;
use crate::program::{Desk, configuration};

fn groups(desk: &Desk, more: &[&str]) -> Vec<Value> {
    let said = desk.run(&[&["list", "--groups", "--json"], more].concat());
    said.is_done().out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn ids_numbers_and_addresses_are_no_difference_and_destination_and_outcome_are() {
    let desk = Desk::new();
    let port = answers(0, |id| {
        let number = id.rsplit('-').next().unwrap();
        match id.split('-').next().unwrap() {
            "a" => ("400 No", format!("no article {number} at 10.0.0.{number}:8080")),
            "b" => ("400 No", format!("no order 7c9e66{number}9-7425-40de for ann@example.com")),
            "c" => ("400 No", format!("no order 1b4e28{number}a-2fa1-11d2 for bo@example.org")),
            "d" => ("500 Failed", format!("no article {number} at 10.0.0.{number}:8080")),
            _ => ("400 No", format!("no article {number} at [fe80::{number}]:443")),
        }
    });
    let mut config = configuration(port, "false", "");
    let shipping = config.split_once("[destination").unwrap().1.to_owned();
    config += &format!("[destination{}", shipping.replacen("shipping", "billing", 1));
    desk.write("counterfoil.toml", &config);
    let ids = |to: &str, prefix: &str, count: usize| {
        (0..count).map(|n| (format!("{prefix}-{to}-{n}"), to.to_owned())).collect::<Vec<_>>()
    };
    let some = [
        ids("shipping", "a", 4),
        ids("shipping", "b", 1),
        ids("shipping", "c", 1),
        ids("shipping", "d", 2),
        ids("shipping", "e", 1),
    ];
    let line =
        |(id, to)| format!("{{\"id\":\"{id}\",\"to\":\"{to}\",\"kind\":\"k\",\"body\":{{}}}}\n");
    desk.write("f.jsonl", &some.into_iter().flatten().map(line).collect::<String>());
    desk.run(&["enqueue", "--from", "f.jsonl"]).is_done();
    // Each at a time of its own.
    for n in 0..3 {
        let id = format!("a-billing-{n}");
        let what = ["enqueue", &id, "--to", "billing", "--kind", "k", "--body", "1"];
        desk.run(&what).is_done();
    }
    assert_eq!(desk.run(&["relay", "--until-idle"]).code, Some(1));
    let groups = groups(&desk, &[]);
    let short = |group: &Value| {
        let of = |name: &str| group[name].as_str().unwrap().to_owned();
        (of("destination"), of("state"), of("reason"), group["count"].as_u64().unwrap())
    };
    let mut found: Vec<_> = groups.iter().map(short).collect();
    let counts: Vec<_> = found.iter().map(|group| group.3).collect();
    assert!(counts.is_sorted_by(|one, next| one >= next), "largest first: {counts:?}");
    found.sort();
    let group = |to: &str, state: &str, reason: &str, count| {
        (to.to_owned(), state.to_owned(), reason.to_owned(), count)
    };
    let article = "rejected: HTTP 400: no article # at #";
    let wanted = [
        group("billing", "dead", article, 3),
        group("shipping", "dead", article, 5),
        group("shipping", "dead", "rejected: HTTP 400: no order # for #", 2),
        group("shipping", "uncertain", "unknown: HTTP 500: no article # at #", 2),
    ];
    assert_eq!(found, wanted);
    // The first and the last of a group are times of its commands.
    let billing = groups.iter().find(|group| group["destination"] == "billing").unwrap();
    let recorded = |id: &str| desk.show(id)["recorded_at"].clone();
    assert_eq!(billing["first"], recorded("a-billing-0"), "{billing}");
    assert_eq!(billing["last"], recorded("a-billing-2"), "{billing}");
    assert_ne!(billing["first"], billing["last"]);
}
