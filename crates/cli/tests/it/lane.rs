//! Lanes across processes: eight relays on one file, SIGKILLs, and a receiver that keeps a log.
//!
//! Guarantees: the log is the receiver's own, so it shows what was sent: never two of a lane in
//! flight, effects in the order of commits. Does not: repeat the cases of the store suite.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::answers::{Said, answers};
use crate::program::{Desk, Running, configuration, wait_until};

const RELAYS: usize = 8;
const KILLS: usize = 32;
const BETWEEN_KILLS: Duration = Duration::from_millis(100);
const KEYS: usize = 4;
/// Commands of each key at each destination.
const LENGTH: usize = 10;

/// What the receiver wrote down, by lane.
#[derive(Default)]
struct Log {
    in_flight: BTreeMap<String, Vec<usize>>,
    acted: BTreeMap<String, Vec<usize>>,
    seen: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

fn is_refused(number: usize) -> bool {
    number % 5 == 3
}

/// Refuses some the first time, acts on the rest, and loses some of the answers.
fn receive(log: &Mutex<Log>, id: &str) -> Said {
    let (lane, number) = id.rsplit_once('-').unwrap();
    let number: usize = number.parse().unwrap();
    let is_first = {
        let mut log = log.lock().unwrap();
        let flying = log.in_flight.entry(lane.to_owned()).or_default();
        if flying.iter().any(|other| *other != number) {
            let wrong = format!("{id} beside {flying:?}");
            log.wrong.push(wrong);
        }
        log.in_flight.get_mut(lane).unwrap().push(number);
        let seen = log.seen.entry(id.to_owned()).or_default();
        *seen += 1;
        *seen == 1
    };
    // Some take longer than a round of kills, so that whoever sends one is killed meanwhile.
    let is_long = is_first && number == 6;
    let millis = if is_long { 900 } else { 5 + 7 * (number as u64 % 4) };
    std::thread::sleep(Duration::from_millis(millis));
    let mut log = log.lock().unwrap();
    let flying = log.in_flight.get_mut(lane).unwrap();
    let place = flying.iter().position(|one| *one == number).unwrap();
    flying.remove(place);
    if is_first && is_refused(number) {
        return ("400 No", String::new());
    }
    let acted = log.acted.entry(lane.to_owned()).or_default();
    if !acted.contains(&number) {
        acted.push(number);
    }
    let status = if is_first && number % 7 == 5 { "500 Failed" } else { "200 OK" };
    (status, String::new())
}

fn check(log: &Log) {
    assert!(log.wrong.is_empty(), "two of a lane in flight: {:?}", log.wrong);
    assert_eq!(log.acted.len(), 2 * KEYS);
    for (lane, acted) in &log.acted {
        assert_eq!(acted.len(), LENGTH, "{lane}: {acted:?}");
        // One that was passed comes later; all others keep the order of the commits.
        let skips = lane.starts_with("skip");
        let ordered = acted.iter().filter(|number| !skips || !is_refused(**number));
        assert!(ordered.is_sorted(), "{lane}: {acted:?}");
    }
    assert!(log.acted.values().any(|acted| !acted.is_sorted()), "nothing was passed");
}

fn configure(desk: &Desk, port: u16) {
    let of = |name: &str, on_parked: &str| {
        let one = configuration(port, "\"forever\"", &format!("on_parked = \"{on_parked}\""));
        one.replace("[destination.shipping]", &format!("[destination.{name}]"))
    };
    let (block, skip) = (of("block", "block"), of("skip", "skip"));
    let skip = skip.split_once("[destination").unwrap().1;
    desk.write("counterfoil.toml", &format!("{block}\n[destination{skip}"));
}

fn enqueue(desk: &Desk) {
    let mut lines = String::new();
    for number in 0..LENGTH {
        for lane in (0..KEYS).flat_map(|key| [format!("block.{key}"), format!("skip.{key}")]) {
            let to = lane.split_once('.').unwrap().0;
            lines += &format!(
                "{{\"id\":\"{lane}-{number}\",\"to\":\"{to}\",\"kind\":\"k\",\"body\":{{}},\
                 \"ordering_key\":\"{lane}\"}}\n"
            );
        }
    }
    desk.write("f.jsonl", &lines);
    desk.run(&["enqueue", "--from", "f.jsonl"]).is_done();
}

/// What a person does now and then: dead ones by filter, and one by one those in doubt, which were
/// refused after a kill. The contract makes that safe.
fn retry_all(desk: &Desk) {
    desk.run(&["retry", "--state", "dead", "--yes", "--actor", "ann"]).is_done();
    let list = desk.run(&["list", "--state", "uncertain", "--json"]);
    let id = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["command_id"].as_str().unwrap().to_owned()
    };
    let ids: Vec<_> = list.is_done().out.lines().map(id).collect();
    if !ids.is_empty() {
        let ids: Vec<_> = ids.iter().map(String::as_str).collect();
        desk.run(&[&["retry", "--actor", "ann"], &ids[..]].concat()).is_done();
    }
}

#[test]
fn eight_relays_that_are_killed_keep_the_order_of_lanes() {
    let desk = Desk::new();
    let log = Arc::new(Mutex::new(Log::default()));
    let own = Arc::clone(&log);
    configure(&desk, answers(0, move |id| receive(&own, id)));
    enqueue(&desk);
    let begin = || desk.start(&["relay"]);
    let mut relays: Vec<Running> = (0..RELAYS).map(|_| begin()).collect();
    let retry = || retry_all(&desk);
    for kill in 0..KILLS {
        std::thread::sleep(BETWEEN_KILLS);
        std::mem::replace(&mut relays[kill * 5 % RELAYS], begin()).kill();
        if kill % 5 == 4 {
            retry();
        }
    }
    let all = i64::try_from(2 * KEYS * LENGTH).unwrap();
    let completed = "SELECT count(*) FROM counterfoil_receipt WHERE outcome = 'completed'";
    wait_until("all is done", || {
        retry();
        std::thread::sleep(Duration::from_millis(200));
        desk.orders(completed) == all
    });
    relays.into_iter().for_each(Running::kill);
    let refused = (0..LENGTH).filter(|number| is_refused(*number)).count() * 2 * KEYS;
    let by_ann = "SELECT count(DISTINCT about) FROM counterfoil_operator_action
                  WHERE verb = 'retry' AND actor = 'ann'";
    // Where a kill swallowed the refusal, the repeat was taken.
    let retried = usize::try_from(desk.orders(by_ann)).unwrap();
    assert!((1..=refused).contains(&retried), "{retried} of {refused}");
    let taken_over = "SELECT count(*) FROM counterfoil_attempt WHERE outcome = 'expired'";
    assert!(desk.orders(taken_over) > 0, "no kill hit a send");
    desk.run(&["audit"]).is_done();
    check(&log.lock().unwrap());
}
