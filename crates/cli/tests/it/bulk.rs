//! `enqueue --from` in bounded memory.
//!
//! Guarantees: the peak is the kernel's own figure, read while the program waits for more input.
//! Does not: time anything.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::program::{Desk, wait_until};

/// A body of this many bytes, so that all rows at once are far more than the bound.
const BODY: usize = 1_000;
const FEW: usize = 10_000;
const MANY: usize = 200_000;

/// The most memory that a process ever had, in KiB.
fn peak(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Gives `rows` lines to standard input; the peak before its end.
fn peak_of(rows: usize) -> u64 {
    let desk = Desk::new();
    let args = ["enqueue", "--from", "-", "--store", "sqlite:orders.db"];
    let mut command: Command = desk.command(&args);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = std::io::BufWriter::new(child.stdin.take().unwrap());
    let rest = format!(r#""to":"shipping","kind":"k","body":"{}""#, "x".repeat(BODY));
    for n in 0..rows {
        writeln!(input, r#"{{"id":"order.paid:A-{n:09}",{rest}}}"#).unwrap();
    }
    input.flush().unwrap();
    let recorded = "SELECT count(*) FROM counterfoil_outbox";
    let most = i64::try_from(rows).unwrap();
    // The last batch may wait for more.
    wait_until("it has recorded them", || desk.orders(recorded) > most - 1_000);
    let peak = peak(child.id());
    drop(input);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, format!("{rows} recorded, 0 repeated, 0 refused\n"));
    assert_eq!(desk.orders(recorded), most);
    peak
}

#[test]
fn twenty_times_the_rows_need_no_more_memory() {
    let (few, many) = (peak_of(FEW), peak_of(MANY));
    eprintln!("{FEW} rows: {few} KiB at most; {MANY}: {many} KiB");
    let all = (MANY * BODY / 1024) as u64;
    assert!(many < few + few / 4 && many < all / 2, "{few} KiB, then {many} KiB");
}

/// A file that is no file of lines, such as a picture: it is not gathered without end.
#[test]
fn a_line_without_end_is_given_up() {
    const CHUNK: usize = 1 << 20;
    const CHUNKS: usize = 400;
    let desk = Desk::new();
    let args = ["enqueue", "--from", "-", "--store", "sqlite:orders.db"];
    let mut command: Command = desk.command(&args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let first = "{\"id\":\"a\",\"to\":\"shipping\",\"kind\":\"k\",\"body\":{}}\n";
    input.write_all(first.as_bytes()).unwrap();
    let chunk = [b'x'; CHUNK];
    // It goes away before all is given.
    let given = (0..CHUNKS).take_while(|_| input.write_all(&chunk).is_ok()).count();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(given < CHUNKS, "it took {given} MiB as one line: {said}");
    assert_eq!(output.status.code(), Some(2), "{said}");
    for words in ["line 2: it is too long", "until then: 1 recorded"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}
