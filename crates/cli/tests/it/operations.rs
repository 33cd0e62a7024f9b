//! The night on `docs/operations.md`, run as it stands there: from `status`, `list` and `show`
//! alone a person finds why order A-17 was not shipped, and ends it.
//!
//! Guarantees: each command of the page is run in order, and what it says is what the page shows,
//! but for times. Does not: run what the page says a person does elsewhere.

use std::path::Path;

use crate::program::Desk;
use crate::relay::answering;

const PAGE: &str = "docs/operations.md";
const BEGIN: &str = "<!-- transcript: begin -->";
const END: &str = "<!-- transcript: end -->";

/// A command of the page and what it shows.
struct Step {
    command: String,
    shown: String,
}

fn steps() -> Vec<Step> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join(PAGE)).unwrap();
    let part = page.split_once(BEGIN).unwrap().1.split_once(END).unwrap().0.to_owned();
    let blocks = part.split("```").skip(1).step_by(2);
    let mut steps: Vec<Step> = Vec::new();
    for line in blocks.flat_map(|block| block.lines().skip(1)) {
        match line.strip_prefix("$ ") {
            Some(command) => {
                steps.push(Step { command: command.to_owned(), shown: String::new() });
            }
            None => {
                let step = steps.last_mut().expect("a block begins with a command");
                step.shown.push_str(line);
                step.shown.push('\n');
            }
        }
    }
    steps
}

/// As a shell splits it: at spaces, but not inside quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in command.split('"').enumerate() {
        match at % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

/// Without what differs each time: times, lengths of time, who runs the relay, widths of columns.
fn normalised(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut out: Vec<String> = Vec::new();
        let mut words = line.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let bare = word.trim_end_matches([',', ':', ';', ')']);
            let is_time = bare.len() > 18 && bare.ends_with('Z') && bare.contains('T');
            if is_time && bare.starts_with("20") {
                out.push(format!("TIME{}", &word[bare.len()..]));
            } else if word.chars().all(|c| c == '─') {
                out.push("─".into());
            } else if word == "since"
                && words.peek().is_some_and(|next| next.parse::<u64>().is_ok())
            {
                // `oldest due since 3 s`.
                words.by_ref().take(2).for_each(drop);
                out.push("since A-WHILE".into());
            } else {
                out.push(word.to_owned());
            }
        }
        lines.push(out.join(" "));
    }
    lines.join("\n").trim().to_owned()
}

/// Two orders of one customer, to be shipped in order by a receiver without keys, which broke off
/// in the middle of the first.
fn night() -> Desk {
    let desk = Desk::new();
    for (id, key) in [("A-15", "customer-7"), ("A-16", "customer-42"), ("A-17", "customer-42")] {
        let (id, body) = (format!("order.ship:{id}"), format!("{{\"order\":\"{id}\"}}"));
        let what = ["enqueue", &id, "--to", "shipping", "--kind", "order.ship", "--body", &body];
        let lane = ["--ordering-key", key, "--store", "sqlite:orders.db"];
        desk.run(&[&what[..], &lane].concat()).is_done();
        if id == "order.ship:A-15" {
            let (_receiver, port) = desk.receiver(&[]);
            desk.configure(port, "false", "");
            desk.run(&["relay", "--until-idle"]).is_done();
        }
    }
    let broken = "HTTP/1.1 500 Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    desk.configure(answering(broken), "false", "");
    assert_eq!(desk.run(&["relay", "--until-idle"]).code, Some(1));
    desk
}

#[test]
fn a_person_finds_why_an_order_was_not_shipped_and_ends_it() {
    let desk = night();
    let (_receiver, port) = desk.receiver(&[]);
    desk.configure(port, "false", "");
    let mut said = String::new();
    let steps = steps();
    let allowed = ["status", "list", "show", "resolve", "relay"];
    assert!(steps.len() >= 5, "the page tells a story");
    for Step { command, shown } in &steps {
        let words = words(command);
        assert_eq!(words[0], "counterfoil", "{command}");
        assert!(allowed.contains(&words[1].as_str()), "{command}");
        let args: Vec<_> = words[1..].iter().map(String::as_str).collect();
        let answer = desk.run(&args);
        answer.is_done();
        said.push_str(&format!("$ {command}\n{}\n", answer.out));
        // A relay talks on stderr, and the page leaves that out.
        assert_eq!(normalised(&answer.out), normalised(shown), "{command}, in all:\n{said}");
    }
    assert!(steps.iter().any(|step| step.command.contains(" resolve ")), "it is ended");
    assert_eq!(desk.show("order.ship:A-17")["state"], "completed");
    assert_eq!(desk.show("order.ship:A-16")["state"], "completed");
    let jobs = "SELECT count(*) FROM jobs WHERE key = 'order.ship:A-16'";
    assert_eq!(desk.shipping(jobs), 0, "a person's word ended it, and nothing was sent again");
    desk.run(&["audit"]).is_done();
}
