//! Processes killed while they write steps: each input waits or is decided, never both or neither.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command as Process, Stdio};

use counterfoil_core::domain::workflow::InputKind;
use counterfoil_core::port::Workflows as _;
use counterfoil_sqlite::{Options, SqliteStore};
use rusqlite::Connection;

use crate::store::fresh;
use crate::workflow::{decision, due, input, step, stream, trip};

/// Names the file to a child: this same test program, which then plays the part.
const CHILD: &str = "COUNTERFOIL_TEST_RUNNER";
const STREAMS: usize = 8;
const INPUTS: usize = 8_000;

/// The part: decides whatever is due, several at once and in several groups, until it is killed.
#[tokio::test]
async fn plays_a_runner() {
    let Some(file) = std::env::var_os(CHILD) else { return };
    let store = SqliteStore::open(file, Options::default()).unwrap();
    loop {
        let due = due(&store).await;
        if due.is_empty() {
            println!("\nidle");
            return;
        }
        let mut steps = Vec::new();
        for of in (0..STREAMS).map(|of| format!("t{of}")) {
            let mine = due.iter().filter(|one| one.stream.as_str() == of);
            let decisions: Vec<_> = mine
                .map(|one| {
                    let mut one = decision(&one.id, &one.kind.event_kind(&one.name), 1);
                    one.events.clear();
                    one
                })
                .collect();
            let (standing, _) = store.standing(&stream(&of), &trip()).await.unwrap();
            if !decisions.is_empty() {
                steps.push(step(&of, standing.map_or(0, |row| row.head), decisions));
            }
        }
        let other = steps.split_off(steps.len() / 2);
        let both = tokio::join!(store.steps(steps), store.steps(other));
        for written in [both.0.unwrap(), both.1.unwrap()].concat() {
            written.unwrap();
        }
        println!("\nstepped");
    }
}

/// Kills a runner after it has said that it wrote so many times; whether it was idle.
fn kill_a_runner(file: &Path, after: usize) -> bool {
    let mut child = Process::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "workflow_fault::plays_a_runner"])
        .env(CHILD, file)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stdout.take().unwrap());
    let (mut steps, mut is_idle) = (0, false);
    for line in said.lines().map_while(Result::ok) {
        steps += usize::from(line == "stepped");
        is_idle |= line == "idle";
        if steps > after || is_idle {
            break;
        }
    }
    // SIGKILL, at whatever it does now.
    child.kill().unwrap();
    child.wait().unwrap();
    is_idle
}

fn numbers(file: &Path, sql: &str) -> Vec<i64> {
    let store = Connection::open(file).unwrap();
    let mut numbers = store.prepare(sql).unwrap();
    numbers.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[tokio::test]
async fn a_killed_runner_leaves_each_input_waiting_or_decided() {
    let (folder, store) = fresh();
    let file = folder.path().join("s.db");
    for of in (0..STREAMS).map(|of| format!("t{of}")) {
        let start = input(&of, InputKind::Start, "start");
        let signals =
            (1..INPUTS / STREAMS).map(|i| input(&of, InputKind::Signal, &format!("s{i}")));
        let all = std::iter::once(start).chain(signals).collect();
        assert!(store.send_inputs(all).await.unwrap().iter().all(Result::is_ok));
    }
    drop(store);
    let sent = i64::try_from(INPUTS / STREAMS * STREAMS).unwrap();
    let mut killed = 0;
    for after in (0..12).map(|round| round * 3 % 7) {
        if !kill_a_runner(&file, after) {
            killed += 1;
        }
        let waits = "SELECT count(*) FROM counterfoil_input";
        let decided = "SELECT count(*) FROM counterfoil_event WHERE cause IS NOT NULL";
        let [waits, decided] = [waits, decided].map(|sql| numbers(&file, sql)[0]);
        assert_eq!(waits + decided, sent);
        let both = "SELECT count(*) FROM counterfoil_input i JOIN counterfoil_event e \
                    ON e.stream = i.stream AND e.cause = i.id";
        assert_eq!(numbers(&file, both), [0]);
        // What was decided stands whole: its command, its place, and the head of its stream.
        let commands = "SELECT count(*) FROM counterfoil_outbox o JOIN counterfoil_delivery d \
                        ON d.n = o.n JOIN counterfoil_event e ON e.stream = o.stream \
                        AND e.seq = o.seq AND o.idx = 0";
        assert_eq!(numbers(&file, commands), [decided]);
        let heads = "SELECT count(*) FROM counterfoil_stream s WHERE s.head IS NOT \
                     (SELECT max(seq) FROM counterfoil_event e WHERE e.stream = s.stream)
                     OR s.head IS NOT \
                     (SELECT count(*) FROM counterfoil_event e WHERE e.stream = s.stream)";
        assert_eq!(numbers(&file, heads), [0]);
    }
    assert!(killed >= 8, "{killed}: it was idle too often to be killed at work");
}
