use std::sync::Arc;
use std::time::Instant;
use counterfoil_core::domain::workflow::*;
use counterfoil_core::domain::*;
use counterfoil_core::port::store::*;
use counterfoil_core::port::workflow::{Step, Decision, NewInput, DueFrom};
use counterfoil_core::port::{Store as _, Workflows as _};
use counterfoil_sqlite::SqliteStore;

fn step(s: &Stream, at: Micros, head: i64, input: &str, kind: &str, commands: usize, status: Status) -> Step {
    Step { stream: s.clone(), program: Program::new("trip", 1).unwrap(), expected_seq: head, at,
        decisions: vec![Decision { input: input.into(), event: Event { kind: Kind::new(kind).unwrap(), body: b"{\"a\":1}".to_vec(), cause: None },
            decided: Some("{\"labels\":[\"a\"]}".into()), events: vec![], commands: vec![Command::unnamed("shipping", "k", &1).unwrap(); commands],
            timers: vec![], unset: vec![], cancel: vec![] }],
        status, snapshot: None, owner: "me".into(), lease: Span::from_secs(10) }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let store = SqliteStore::init(folder.path().join("s.db"), None).unwrap();
    let terms = Arc::new(Terms::new(Contract::new(Idempotent::Forever)));
    let dest = Destination::new("shipping").unwrap();
    store.declare(&dest, &terms.contract, false).await.unwrap();
    let n = 64; let rounds = 200;
    let mut t = [0.0f64; 7];
    let all = Instant::now();
    for r in 0..rounds {
        let streams: Vec<_> = (0..n).map(|i| Stream::new(format!("trip-{r}-{i}")).unwrap()).collect();
        let b = Instant::now();
        let inputs = streams.iter().map(|s| NewInput { stream: s.clone(), id: "start".into(), kind: InputKind::Start, name: "trip".into(), body: Some(b"{\"a\":1}".to_vec()) }).collect();
        store.send_inputs(inputs).await.unwrap();
        t[0] += b.elapsed().as_secs_f64(); let b = Instant::now();
        let from = DueFrom { programs: vec![Program::new("trip", 1).unwrap()], owner: "me".into(), limit: 256 };
        let due = store.due_inputs(from.clone()).await.unwrap(); assert_eq!(due.len(), n);
        t[1] += b.elapsed().as_secs_f64(); let b = Instant::now();
        let now = store.now().unwrap();
        let steps = due.iter().map(|d| step(&d.stream, now, 0, &d.id, "start:trip", 1, Status::Running)).collect();
        for one in store.steps(steps).await.unwrap() { one.unwrap(); }
        t[2] += b.elapsed().as_secs_f64(); let b = Instant::now();
        let ex = Exchange { claim_from: vec![ClaimFrom { destination: dest.clone(), limit: n, terms: terms.clone() }], claim_limit: n, owner: "me".into(), ..Exchange::default() };
        let claimed = store.exchange(ex).await.unwrap().claimed; assert_eq!(claimed.len(), n);
        t[3] += b.elapsed().as_secs_f64(); let b = Instant::now();
        let settles = claimed.iter().map(|c| Settle { claimed: c.clone(), ended: Ended::Outcome(Outcome::Completed { result: ResultBody { bytes: b"ok".to_vec(), ..ResultBody::default() }, evidence: "200".into() }),
            started_at: c.delivery.first_sent_at.unwrap_or_default(), burns: true, seed: Seed(1), terms: terms.clone() }).collect();
        store.exchange(Exchange { settles, ..Exchange::default() }).await.unwrap();
        t[4] += b.elapsed().as_secs_f64(); let b = Instant::now();
        let due = store.due_inputs(from).await.unwrap(); assert_eq!(due.len(), n);
        t[5] += b.elapsed().as_secs_f64(); let b = Instant::now();
        let steps = due.iter().map(|d| step(&d.stream, now, d.standing.as_ref().unwrap().head, &d.id, "receipt:completed", 0, Status::Completed)).collect();
        for one in store.steps(steps).await.unwrap() { one.unwrap(); }
        t[6] += b.elapsed().as_secs_f64();
    }
    let each = 1e6 / f64::from(rounds * n as i32);
    println!("µs each: send {:.1} due {:.1} step1 {:.1} claim {:.1} settle {:.1} due {:.1} step2 {:.1}; all {:.1} = {:.0}/s", t[0]*each, t[1]*each, t[2]*each, t[3]*each, t[4]*each, t[5]*each, t[6]*each, all.elapsed().as_secs_f64()*each, 1e6/(all.elapsed().as_secs_f64()*each));
}
