//! `enqueue --from` and `--ordering-key`: many commands, and commands in order.

use crate::program::{Desk, Said};

const STORE: [&str; 2] = ["--store", "sqlite:orders.db"];

fn from(desk: &Desk, lines: &str) -> Said {
    desk.write("f.jsonl", lines);
    desk.run(&[&["enqueue", "--from", "f.jsonl"][..], &STORE].concat())
}

fn line(id: &str) -> String {
    format!("{{\"id\":\"{id}\",\"to\":\"shipping\",\"kind\":\"k\",\"body\":{{\"n\":1}}}}\n")
}

fn recorded(desk: &Desk) -> i64 {
    desk.orders("SELECT count(*) FROM counterfoil_outbox")
}

#[test]
fn the_sum_says_what_was_recorded_and_the_same_again_repeats() {
    let desk = Desk::new();
    let lines: String = (0..2500).map(|n| line(&format!("c-{n}"))).collect();
    let said = from(&desk, &lines);
    assert_eq!(said.is_done().out, "2500 recorded, 0 repeated, 0 refused\n");
    assert!(said.err.is_empty(), "no bar without a terminal: {said:?}");
    let more = format!("{lines}\n{}", line("new"));
    let said = from(&desk, &more);
    assert_eq!(said.is_done().out, "1 recorded, 2500 repeated, 0 refused\n");
    assert_eq!(recorded(&desk), 2501);
    let body = "SELECT count(*) FROM counterfoil_outbox WHERE body = '{\"n\":1}'";
    assert_eq!(desk.orders(body), 2501, "the bytes as they stand in the file");
}

#[test]
fn refused_lines_are_numbered_and_stop_none_of_the_others() {
    let desk = Desk::new();
    let other = line("a").replace(":1}", ":2}");
    let said = from(&desk, &[line("a"), other, line(""), line("b")].concat());
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(said.out, "2 recorded, 0 repeated, 2 refused\n");
    assert!(said.err.contains("error: line 2: command a stands with other content"), "{said:?}");
    assert!(said.err.contains("error: line 3: "), "{said:?}");
}

#[test]
fn a_broken_line_is_named_and_all_before_it_stands() {
    let desk = Desk::new();
    let said = from(&desk, &[line("a"), line("b"), "{\"id\":\n".into(), line("c")].concat());
    said.refuses(2, &["line 3: EOF", "until then: 2 recorded, 0 repeated, 0 refused", "again"]);
    assert_eq!(recorded(&desk), 2);
    let fixed = from(&desk, &[line("a"), line("b"), line("x"), line("c")].concat());
    assert_eq!(fixed.is_done().out, "2 recorded, 2 repeated, 0 refused\n");
    let typo = from(&desk, &line("d").replace("\"kind\"", "\"kin\""));
    typo.refuses(2, &["line 1: unknown field `kin`"]);
    let cut = from(&desk, line("e").trim_end());
    assert_eq!(cut.is_done().out, "1 recorded, 0 repeated, 0 refused\n", "no line end is needed");
}

#[test]
fn many_refused_lines_are_counted_and_the_first_are_told() {
    let desk = Desk::new();
    let said = from(&desk, &line("").repeat(300));
    assert_eq!((said.code, said.out.as_str()), (Some(1), "0 recorded, 0 repeated, 300 refused\n"));
    assert_eq!(said.err.lines().count(), 101, "{said:?}");
}

#[test]
fn lines_come_from_standard_input_too_and_go_with_no_other_flag() {
    let desk = Desk::new();
    let args = [&["enqueue", "--from", "-"][..], &STORE].concat();
    let said = desk.run_with(&args, line("a").as_bytes());
    assert_eq!(said.is_done().out, "1 recorded, 0 repeated, 0 refused\n");
    let run = |args: &[&str]| desk.run(&[&["enqueue"], args, &STORE].concat());
    run(&["--from", "none"]).refuses(2, &["--from none cannot be read"]);
    for more in [&["id"][..], &["--to", "x"], &["--body", "1"], &["--ordering-key", "k"]] {
        assert_eq!(run(&[&["--from", "f"], more].concat()).code, Some(2), "{more:?}");
    }
}

#[test]
fn commands_of_one_key_arrive_in_the_order_of_the_file() {
    let desk = Desk::new();
    let (_receiver, port) = desk.receiver(&[]);
    desk.configure(port, "\"forever\"", "");
    let keyed = |n: usize| {
        line(&format!("c-{n:02}")).replace("\"body\"", "\"ordering_key\":\"k\",\"body\"")
    };
    from(&desk, &(0..20).map(keyed).collect::<String>()).is_done();
    let more = ["enqueue", "c-20", "--to", "shipping", "--kind", "k", "--body", "1"];
    desk.run(&[&more[..], &["--ordering-key", "k"], &STORE].concat()).is_done();
    let shown = desk.run(&["show", "c-20"]);
    for word in ["lane k, place 21: 20 before it, 0 behind it", "before it: c-00 (pending), c-01"] {
        assert!(shown.is_done().out.contains(word), "{word}: {shown:?}");
    }
    assert!(shown.out.contains("waits for its turn in lane k; c-00 (pending) has it"), "{shown:?}");
    desk.run(&["relay", "--until-idle"]).is_done();
    let out_of_order =
        "SELECT count(*) FROM jobs a JOIN jobs b ON a.rowid < b.rowid AND a.key > b.key";
    assert_eq!(desk.shipping("SELECT count(*) FROM jobs"), 21);
    assert_eq!(desk.shipping(out_of_order), 0);
    desk.run(&["audit"]).is_done();
}

/// The first line was refused as no JSON, and the message named nothing that a person could see.
#[test]
fn a_byte_order_mark_before_the_first_line_is_no_part_of_it() {
    let desk = Desk::new();
    let said = from(&desk, &format!("\u{feff}{}{}", line("a"), line("b")).replace('\n', "\r\n"));
    assert_eq!(said.is_done().out, "2 recorded, 0 repeated, 0 refused\n");
    let later = from(&desk, &format!("{}\u{feff}{}", line("c"), line("d")));
    later.refuses(2, &["line 2", "until then: 1 recorded"]);
}
