//! Workflows over HTTP: started, signalled, looked at and taken up again.
//!
//! Guarantees: by operators only; the guard's rules have their problems. Does not: run a program.

use counterfoil_core::domain::workflow::{Program, Status};
use counterfoil_core::domain::{Event, Kind, Span, Stream};
use counterfoil_core::port::Workflows;
use counterfoil_core::port::workflow::{Aside, Decision, Quarantine, Step};
use serde_json::json;

use crate::client::{Answered, request, send};
use crate::scene::{EYE, OPS, SHOP, Scene};

over_both_stores!(
    an_input_is_sent_once,
    what_breaks_a_rule_is_named,
    a_quarantined_one_is_taken_up_again,
    one_that_cannot_go_on_is_mended_by_hand,
    a_list_goes_on_where_it_ended,
);

async fn say<S: Workflows>(scene: &Scene<S>, caller: &str, path: &str, body: &str) -> Answered {
    let line = format!("POST /v1/workflows/{path}");
    send(scene.at, request(&line, &[caller], body.as_bytes())).await
}

async fn an_input_is_sent_once<S: Workflows>(scene: Scene<S>) {
    let start = r#"{"workflow":"trip","body":{"to":"Rome"}}"#;
    for caller in [SHOP, EYE] {
        say(&scene, caller, "t-1/start", start).await.refused(403, "CF1002");
    }
    scene.get("/v1/workflows/t-1", &[EYE]).await.refused(404, "CF1042");
    let approve = r#"{"name":"approve","id":"a-1"}"#;
    // A signal may come before its start.
    say(&scene, OPS, "t-1/signal", approve).await.says("recorded");
    say(&scene, OPS, "t-1/start", start).await.says("recorded");
    say(&scene, OPS, "t-1/start", start).await.says("repeated");
    let other = r#"{"workflow":"trip","body":{"to":"Bonn"}}"#;
    say(&scene, OPS, "t-1/start", other).await.refused(409, "CF1044");
    say(&scene, OPS, "t-1/signal", approve).await.says("repeated");
    say(&scene, OPS, "t-1/cancel", r#"{"reason":"rain"}"#).await.says("recorded");
    let story = scene.get("/v1/workflows/t-1", &[EYE]).await.json();
    assert_eq!((&story["status"], &story["workflow"]), (&json!("waiting"), &json!("trip")));
    let inputs = story["inputs"].as_array().unwrap();
    let ids: Vec<_> = inputs.iter().map(|input| input["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["a-1", "cancel", "start"]);
}

async fn what_breaks_a_rule_is_named<S: Workflows>(scene: Scene<S>) {
    for (path, body, field) in [
        ("t/start", "{}", "workflow"),
        ("t/start", r#"{"workflow":""}"#, "workflow"),
        ("t/start", r#"{"workflow":"a/b"}"#, "workflow"),
        ("t/start", r#"{"workflow":7}"#, "workflow"),
        ("t/signal", r#"{"name":"n"}"#, "id"),
        ("t/signal", r#"{"name":"n","id":"receipt:1:0"}"#, "id"),
        ("t/signal", r#"{"name":"","id":"i"}"#, "name"),
        ("t/cancel", "{}", "reason"),
        ("t/cancel", r#"{"reason":"  "}"#, "reason"),
        ("t/drop", r#"{"input":"i","reason":" \n"}"#, "reason"),
        ("t/end", r#"{"reason":"\t"}"#, "reason"),
        ("t/signal", r#"{"name":"n","id":"i","kind":"timer"}"#, "kind"),
    ] {
        let said = say(&scene, OPS, path, body).await.refused(422, "CF1011");
        assert!(said.starts_with(field), "{path} {body}: {said}");
    }
    let long = "s".repeat(201);
    for (verb, body) in [
        ("start", r#"{"workflow":"w"}"#),
        ("signal", r#"{"name":"n","id":"i"}"#),
        ("cancel", r#"{"reason":"r"}"#),
    ] {
        let said = say(&scene, OPS, &format!("{long}/{verb}"), body).await;
        let said = said.refused(422, "CF1011");
        assert!(said.starts_with("stream has 1 to 200 bytes"), "{verb}: {said}");
    }
    say(&scene, OPS, "%ff/start", r#"{"workflow":"w"}"#).await.refused(404, "CF1042");
    scene.get("/v1/workflows?status=open", &[EYE]).await.refused(400, "CF1026");
    scene.get("/v1/workflows/t?at=0", &[EYE]).await.refused(400, "CF1026");
}

async fn a_quarantined_one_is_taken_up_again<S: Workflows>(scene: Scene<S>) {
    say(&scene, OPS, "t-1/retry", "{}").await.refused(404, "CF1042");
    say(&scene, OPS, "t-1/start", r#"{"workflow":"trip"}"#).await.says("recorded");
    say(&scene, OPS, "t-1/retry", "{}").await.refused(409, "CF1043");
    let quarantine = Quarantine {
        stream: Stream::new("t-1").unwrap(),
        program: Program::new("trip", 1).unwrap(),
        expected_seq: 0,
        reason: "it panicked".into(),
        input: "start".into(),
    };
    assert_eq!(scene.store.quarantine(quarantine).await.unwrap(), Aside::Workflow);
    let story = scene.get("/v1/workflows/t-1", &[EYE]).await.json();
    assert_eq!(story["status"], "quarantined");
    assert_eq!((&story["reason"], &story["input"]), (&json!("it panicked"), &json!("start")));
    let retry = r#"{"reason":"mended"}"#;
    say(&scene, OPS, "t-1/retry", retry).await.says("done");
    say(&scene, OPS, "t-1/retry", retry).await.refused(409, "CF1043");
}

async fn one_that_cannot_go_on_is_mended_by_hand<S: Workflows>(scene: Scene<S>) {
    let drop = r#"{"input":"bad","reason":"sent by mistake"}"#;
    let end = r#"{"reason":"nobody will mend it"}"#;
    for caller in [SHOP, EYE] {
        say(&scene, caller, "t-1/drop", drop).await.refused(403, "CF1002");
        say(&scene, caller, "t-1/end", end).await.refused(403, "CF1002");
    }
    say(&scene, OPS, "t-1/drop", drop).await.refused(404, "CF1045");
    say(&scene, OPS, "t-1/end", end).await.refused(404, "CF1042");
    say(&scene, OPS, "t-1/drop", r#"{"input":"bad"}"#).await.refused(422, "CF1011");
    say(&scene, OPS, "t-1/end", "{}").await.refused(422, "CF1011");
    say(&scene, OPS, "t-1/start", r#"{"workflow":"trip"}"#).await.says("recorded");
    say(&scene, OPS, "t-1/end", end).await.refused(409, "CF1043");
    let decided = |id: &str, kind: &str| Decision {
        input: id.into(),
        event: Event { kind: Kind::new(kind).unwrap(), body: Vec::new(), cause: None },
        decided: None,
        events: Vec::new(),
        commands: Vec::new(),
        timers: Vec::new(),
        unset: Vec::new(),
        cancel: Vec::new(),
    };
    let (of, program) = (Stream::new("t-1").unwrap(), Program::new("trip", 1).unwrap());
    let begun = Step {
        stream: of.clone(),
        program: program.clone(),
        expected_seq: 0,
        at: scene.store.now().unwrap(),
        decisions: vec![decided("start", "start:trip")],
        status: Status::Running,
        snapshot: None,
        owner: "me".into(),
        lease: Span::ZERO,
    };
    assert_eq!(scene.store.steps(vec![begun]).await.unwrap(), [Ok(())]);
    say(&scene, OPS, "t-1/signal", r#"{"name":"n","id":"bad"}"#).await.says("recorded");
    say(&scene, OPS, "t-1/drop", drop).await.refused(409, "CF1046");
    let (reason, input) = ("it panicked".into(), "bad".into());
    let quarantine = Quarantine { stream: of, program, expected_seq: 1, reason, input };
    assert_eq!(scene.store.quarantine(quarantine).await.unwrap(), Aside::Workflow);
    say(&scene, OPS, "t-1/drop", drop).await.says("done");
    say(&scene, OPS, "t-1/end", end).await.says("done");
    let story = scene.get("/v1/workflows/t-1", &[EYE]).await.json();
    assert_eq!((&story["status"], &story["head"]), (&json!("failed"), &json!(2)));
    say(&scene, OPS, "t-1/end", end).await.refused(409, "CF1043");
}

async fn a_list_goes_on_where_it_ended<S: Workflows>(scene: Scene<S>) {
    for name in ["a", "b", "c"] {
        let quarantine = Quarantine {
            stream: Stream::new(name).unwrap(),
            program: Program::new("trip", 1).unwrap(),
            expected_seq: 0,
            reason: "r".into(),
            input: String::new(),
        };
        assert_eq!(scene.store.quarantine(quarantine).await.unwrap(), Aside::Workflow);
    }
    let page = scene.get("/v1/workflows?limit=2&status=quarantined", &[EYE]).await.json();
    assert_eq!((page["workflows"].as_array().unwrap().len(), &page["next"]), (2, &json!("b")));
    let page = scene.get("/v1/workflows?limit=2&after=b&workflow=trip", &[EYE]).await.json();
    assert_eq!(page["workflows"][0]["stream"], "c");
    assert_eq!(page["next"], json!(null));
    let none = scene.get("/v1/workflows?status=running", &[EYE]).await.json();
    assert_eq!(none, json!({"workflows": [], "next": null}));
    // What waits for a program that nobody has, and for a start that does not come.
    say(&scene, OPS, "d/start", r#"{"workflow":"typo"}"#).await.says("recorded");
    let waiting = scene.get("/v1/workflows?status=waiting", &[EYE]).await.json();
    let one = &waiting["workflows"][0];
    assert_eq!((&one["stream"], &one["workflow"]), (&json!("d"), &json!("typo")));
    assert_eq!(one["status"], "waiting");
    for id in ["s/1", "s/2"] {
        let signal = json!({"name": "n", "id": id}).to_string();
        say(&scene, OPS, "e%2Ff/signal", &signal).await.says("recorded");
    }
    let page = scene.get("/v1/orphans?limit=1", &[EYE]).await.json();
    assert_eq!(page["next"], json!({"after": "e/f", "after_id": "s/1"}));
    let rest = scene.get("/v1/orphans?after=e%2Ff&after_id=s%2F1", &[EYE]).await.json();
    assert_eq!((&rest["inputs"][0]["id"], &rest["next"]), (&json!("s/2"), &json!(null)));
    // It was read and ignored.
    let said = scene.get("/v1/orphans?after_id=s%2F2", &[EYE]).await.refused(400, "CF1026");
    assert!(said.starts_with("after_id") && said.ends_with("give both"), "{said}");
}
