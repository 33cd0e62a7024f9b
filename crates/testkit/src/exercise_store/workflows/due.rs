//! What is due to whom, and in which order.

use counterfoil_core::domain::workflow::{InputKind, Status};
use counterfoil_core::domain::{Micros, Span};
use counterfoil_core::port::workflow::{Decision, DueFrom, DueInput, Standing, Step};
use counterfoil_core::port::{Store, Workflows};

use super::WorkflowHands;
use super::flow::{
    Flow, RUNNER, TRIP, approved, decided, input, program, signal, start, started, stream, timer,
};

pub(super) async fn a_due_input_tells_all<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    let told = DueInput {
        stream: stream(TRIP),
        id: "start".into(),
        kind: InputKind::Start,
        name: "trip".into(),
        body: b"to Rome".to_vec(),
        standing: None,
        receipt: None,
    };
    assert_eq!(flow.due().await, std::slice::from_ref(&told));
    flow.commit(TRIP, 0, vec![started()]).await;
    flow.send(input(TRIP, "stop", InputKind::Cancel, "stop", "")).await;
    let standing = Standing { program: program("trip/1"), status: Status::Running, head: 1 };
    let (id, name, body) = ("stop".into(), "stop".into(), Vec::new());
    let kind = InputKind::Cancel;
    let standing = Some(standing);
    assert_eq!(flow.due().await, [DueInput { id, kind, name, body, standing, ..told }]);
}

pub(super) async fn inputs_come_by_due_time_then_arrival<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    let (late, soon) = (flow.in_secs(20), flow.in_secs(10));
    let timers = vec![timer(1, "late", late), timer(1, "soon", soon)];
    flow.commit(TRIP, 0, vec![Decision { timers, ..started() }]).await;
    flow.send(signal(TRIP, "z")).await;
    flow.begun("trip-0").await;
    flow.send(signal("trip-0", "y")).await;
    flow.send(signal(TRIP, "x")).await;
    assert_eq!(flow.due_ids().await, ["z", "y", "x"]);
    flow.scene.advance(30);
    assert_eq!(flow.due_ids().await, ["z", "y", "x", "timer:1:soon", "timer:1:late"]);
}

/// The story: a runner was away, a signal came after the deadline that the workflow had set, and
/// was heard before the timer; so a payment went out that was approved too late.
pub(super) async fn a_timer_that_was_due_comes_before_a_later_signal<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    for of in [TRIP, "trip-2"] {
        flow.send(start(of)).await;
        let timers = vec![timer(1, "late", flow.in_secs(10)), timer(1, "later", flow.in_secs(20))];
        flow.commit(of, 0, vec![Decision { timers, ..started() }]).await;
    }
    flow.send(signal(TRIP, "in time")).await;
    flow.scene.advance(15);
    flow.send(signal(TRIP, "too late")).await;
    flow.send(signal("trip-2", "too late")).await;
    flow.scene.advance(10);
    let own = |page: &[String], of: &str| -> Vec<String> {
        let own = page.iter().filter_map(|one| one.strip_prefix(of)?.strip_prefix(' '));
        own.map(str::to_owned).collect()
    };
    let page = flow.due_to(&["trip/1"], RUNNER).await;
    let one = ["in time", "timer:1:late", "too late", "timer:1:later"].map(str::to_owned);
    let two = ["timer:1:late", "too late", "timer:1:later"].map(str::to_owned);
    assert_eq!((own(&page, TRIP), own(&page, "trip-2")), (one.to_vec(), two.to_vec()));
    // However short the page is, nothing comes before its turn, and something comes.
    for limit in 1..7 {
        let short = DueFrom { limit, ..flow.from(&["trip/1"], RUNNER) };
        let page = flow.store().due_inputs(short).await.unwrap();
        let page: Vec<_> =
            page.iter().map(|input| format!("{} {}", input.stream, input.id)).collect();
        assert_eq!(page.len(), limit);
        let (first, second) = (own(&page, TRIP), own(&page, "trip-2"));
        assert_eq!(first, one[..first.len()], "{limit}");
        assert_eq!(second, two[..second.len()], "{limit}");
    }
}

/// What stands behind a page is looked for: neither a flood of signals nor of timers lets one of a
/// workflow come before its turn, and neither keeps another workflow waiting.
pub(super) async fn no_flood_lets_an_input_come_before_its_turn<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    let timers = vec![timer(1, "late", flow.in_secs(10))];
    flow.commit(TRIP, 0, vec![Decision { timers, ..started() }]).await;
    flow.begun("flood").await;
    for number in 0..12 {
        flow.send(signal("flood", &format!("{number:02}"))).await;
    }
    flow.send(signal(TRIP, "in time")).await;
    flow.scene.advance(15);
    let page = |limit| {
        let short = DueFrom { limit, ..flow.from(&["trip/1"], RUNNER) };
        let store = flow.store().clone();
        async move {
            let page = store.due_inputs(short).await.unwrap();
            page.iter().map(|one| format!("{} {}", one.stream, one.id)).collect::<Vec<_>>()
        }
    };
    // The timer waits for the signal that came in time, which the flood keeps off the page.
    let flooded: Vec<_> = (0..8).map(|number| format!("flood {number:02}")).collect();
    assert_eq!(page(8).await, flooded);
    let all = page(14).await;
    assert_eq!(all[12..], ["trip-1 in time", "trip-1 timer:1:late"]);
    // One that came later does not keep it.
    let decided = (0..12).map(|number| approved(&format!("{number:02}"))).collect();
    flow.commit("flood", 1, decided).await;
    flow.commit(TRIP, 1, vec![approved("in time")]).await;
    for number in 12..24 {
        flow.send(signal("flood", &format!("{number:02}"))).await;
    }
    flow.send(signal(TRIP, "too late")).await;
    let quarter = page(8).await;
    assert_eq!((quarter.len(), quarter[7].as_str()), (8, "trip-1 timer:1:late"));

    // A flood of timers.
    let timers = (0..12).map(|n| timer(1, &format!("t{n:02}"), flow.in_secs(1))).collect();
    flow.send(start("alarm")).await;
    flow.commit("alarm", 0, vec![Decision { timers, ..started() }]).await;
    flow.scene.advance(9);
    flow.send(signal("alarm", "after them")).await;
    flow.send(signal("trip-9", "orphan")).await;
    let decided = (12..24).map(|number| approved(&format!("{number:02}"))).collect();
    flow.commit("flood", 13, decided).await;
    let short = page(8).await;
    assert_eq!(short.len(), 8);
    assert!(!short.contains(&"alarm after them".to_owned()), "{short:?}");
    assert!(short.contains(&"trip-1 too late".to_owned()), "{short:?}");
}

pub(super) async fn a_limit_is_kept<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    for stream in ["trip-1", "trip-2", "trip-3"] {
        flow.send(start(stream)).await;
    }
    let two = DueFrom { limit: 2, ..flow.from(&["trip/1"], RUNNER) };
    let due = flow.store().due_inputs(two).await.unwrap();
    let of: Vec<_> = due.iter().map(|input| input.stream.as_str()).collect();
    assert_eq!(of, ["trip-1", "trip-2"]);
}

pub(super) async fn what_nobody_serves_clogs_nothing<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    for number in 0..30 {
        let stream = format!("tour-{number}");
        flow.send(input(&stream, "start", InputKind::Start, "tour", "")).await;
        flow.send(signal(&format!("orphan-{number}"), "a")).await;
    }
    flow.begun("trip-2").await;
    for number in 0..30 {
        flow.send(signal("trip-2", &format!("a-{number}"))).await;
    }
    assert!(flow.quarantine("trip-2", 1).await);
    flow.send(start(TRIP)).await;
    let one = DueFrom { limit: 1, ..flow.from(&["trip/1"], RUNNER) };
    let due = flow.store().due_inputs(one).await.unwrap();
    assert_eq!((due.len(), due[0].stream.as_str()), (1, TRIP));
}

pub(super) async fn what_another_one_holds_is_left_to_it<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    let step = flow.step(TRIP, 0, vec![started()]);
    let held = Step { lease: Span::from_secs(60), ..step };
    assert_eq!(flow.try_step(held).await, Ok(()));
    flow.send(signal(TRIP, "a")).await;
    flow.send(start("trip-2")).await;
    assert_eq!(flow.due_to(&["trip/1"], "other").await, ["trip-2 start"]);
    assert_eq!(flow.due_to(&["trip/1"], RUNNER).await, ["trip-1 a", "trip-2 start"]);
    flow.scene.advance(61);
    assert_eq!(flow.due_to(&["trip/1"], "other").await, ["trip-1 a", "trip-2 start"]);
}

pub(super) async fn what_is_let_go_is_everybodys<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    for stream in [TRIP, "trip-2"] {
        flow.send(start(stream)).await;
        let step = flow.step(stream, 0, vec![started()]);
        let held = Step { lease: Span::from_secs(60), ..step };
        assert_eq!(flow.try_step(held).await, Ok(()));
        flow.send(signal(stream, "a")).await;
        flow.send(signal(stream, "b")).await;
    }
    flow.commit(TRIP, 1, vec![approved("a")]).await;
    // Who has ended is held by nobody, whatever the lease.
    let ends = flow.step("trip-2", 1, vec![approved("a")]);
    let ends = Step { status: Status::Failed, lease: Span::from_secs(60), ..ends };
    assert_eq!(flow.try_step(ends).await, Ok(()));
    assert_eq!(flow.due_to(&["trip/1"], "other").await, ["trip-1 b", "trip-2 b"]);
}

pub(super) async fn who_stops_lets_go_of_its_own<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    for (of, owner) in [(TRIP, RUNNER), ("trip-2", RUNNER), ("trip-3", "third")] {
        flow.send(start(of)).await;
        let step = flow.step(of, 0, vec![started()]);
        let held = Step { owner: owner.into(), lease: Span::from_secs(60), ..step };
        assert_eq!(flow.try_step(held).await, Ok(()));
        flow.send(signal(of, "a")).await;
    }
    assert_eq!(flow.due_to(&["trip/1"], "other").await, [""; 0]);
    let named = [stream(TRIP), stream("trip-3"), stream("none")];
    flow.store().let_go(RUNNER, &named).await.unwrap();
    assert_eq!(flow.due_to(&["trip/1"], "other").await, ["trip-1 a"]);
    flow.store().let_go(RUNNER, &[stream("trip-2")]).await.unwrap();
    assert_eq!(flow.due_to(&["trip/1"], "other").await, ["trip-1 a", "trip-2 a"]);
    // Twice does no harm.
    flow.store().let_go(RUNNER, &[stream(TRIP), stream("trip-2")]).await.unwrap();
    assert_eq!(flow.due_ids().await, ["a", "a"]);
}

pub(super) async fn a_lease_holds_nobody_up<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    let step = flow.step(TRIP, 0, vec![started()]);
    assert_eq!(flow.try_step(Step { lease: Span::from_secs(60), ..step }).await, Ok(()));
    flow.send(signal(TRIP, "a")).await;
    // It is for efficiency: the head alone decides who may write.
    let other = flow.step(TRIP, 1, vec![approved("a")]);
    let other = Step { owner: "other".into(), lease: Span::from_secs(60), ..other };
    assert_eq!(flow.try_step(other).await, Ok(()));
    flow.send(signal(TRIP, "b")).await;
    assert_eq!(flow.due_ids().await, [""; 0]);
    assert_eq!(flow.due_to(&["trip/1"], "other").await, ["trip-1 b"]);
}

pub(super) async fn the_next_time_is_told<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    let next = |programs: &[&str]| {
        let programs: Vec<_> = programs.iter().map(|one| program(one)).collect();
        let store = flow.store().clone();
        async move { store.next_input(&programs).await.unwrap() }
    };
    flow.send(signal("trip-9", "orphan")).await;
    assert_eq!(next(&["trip/1"]).await, None);
    flow.send(start(TRIP)).await;
    let is_now = |at: Option<Micros>| at.is_some_and(|at| at <= flow.store().now().unwrap());
    assert!(is_now(next(&["trip/1"]).await));
    assert_eq!(next(&["tour/1"]).await, None);
    let (late, soon) = (flow.in_secs(20), flow.in_secs(10));
    let timers = vec![timer(1, "late", late), timer(1, "soon", soon)];
    flow.commit(TRIP, 0, vec![Decision { timers, ..started() }]).await;
    assert_eq!(next(&["tour/1", "trip/1"]).await, Some(soon));
    assert_eq!(next(&["trip/2"]).await, None);
    flow.send(signal(TRIP, "a")).await;
    assert!(is_now(next(&["trip/1"]).await));
}

pub(super) async fn looking_writes_nothing<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    flow.send(signal(TRIP, "a")).await;
    let before = flow.scene.hands.commits().await;
    assert_eq!(flow.due_ids().await, ["a"]);
    flow.store().next_input(&[program("trip/1")]).await.unwrap();
    flow.standing(TRIP).await;
    assert_eq!(flow.scene.hands.commits().await, before);
}

/// The story: 120 signals of 4 MiB were read at once, and each look read all that were left.
pub(super) async fn long_bodies_make_a_page_short<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    let timers = vec![timer(1, "late", flow.in_secs(10))];
    flow.commit(TRIP, 0, vec![Decision { timers, ..started() }]).await;
    flow.begun("trip-2").await;
    let long = "x".repeat(3 << 20);
    let said = |of: &str, id: &str| input(of, id, InputKind::Signal, "approve", &long);
    for (of, id) in [(TRIP, "a"), ("trip-2", "b"), (TRIP, "c"), ("trip-2", "d"), (TRIP, "e")] {
        flow.send(said(of, id)).await;
    }
    flow.scene.advance(15);
    // 8 MiB and one more; the timer waits for what the bytes hold back.
    assert_eq!(flow.due_ids().await, ["a", "b", "c"]);
    let decided = |id: &str| decided(id, InputKind::Signal, "approve", "long");
    flow.commit(TRIP, 1, vec![decided("a"), decided("c")]).await;
    assert_eq!(flow.due_ids().await, ["b", "d", "e", "timer:1:late"]);
    let most = "x".repeat(16 << 20);
    flow.commit("trip-2", 1, vec![decided("b"), decided("d")]).await;
    flow.commit(TRIP, 3, vec![decided("e")]).await;
    flow.send(input("trip-2", "most", InputKind::Signal, "approve", &most)).await;
    flow.send(signal("trip-2", "short")).await;
    assert_eq!(flow.due_ids().await, ["most", "timer:1:late"], "one comes, however long it is");
}
