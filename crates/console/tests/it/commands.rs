//! Pages of commands: filters, limits, cursors.
//!
//! Guarantees: a client that follows `next` sees each command once, in the order of recording.
//! Does not: repeat each filter over each store; the stores' suite does.

use counterfoil_core::port::Workflows;
use serde_json::{Value, json};

use crate::scene::{EYE, Scene, in_a_file, options};

over_both_stores!(
    pages_follow_one_another_until_null,
    a_filter_lists_what_passes_it,
    what_breaks_a_rule_is_refused_by_its_name,
    a_page_ends_before_it_gets_long,
);

async fn page<S: Workflows>(scene: &Scene<S>, query: &str) -> (Vec<String>, Value) {
    let answered = scene.get(&format!("/v1/commands{query}"), &[EYE]).await;
    assert_eq!(answered.status, 200, "{query}: {answered:?}");
    let page = answered.json();
    let ids = page["commands"].as_array().unwrap().iter();
    let ids = ids.map(|command| command["command_id"].as_str().unwrap().to_owned()).collect();
    (ids, page["next"].clone())
}

async fn pages_follow_one_another_until_null<S: Workflows>(scene: Scene<S>) {
    assert_eq!(page(&scene, "").await, (vec![], Value::Null));
    let ids = ["z", "a/b", "5 % é", "m", "b"];
    for id in ids {
        scene.enqueue(id).await;
    }
    let all = ids.map(str::to_owned).to_vec();
    assert_eq!(page(&scene, "").await, (all.clone(), Value::Null));
    assert_eq!(page(&scene, "?limit=5").await, (all.clone(), Value::Null), "exactly a page");
    for limit in 1..6 {
        let (mut seen, mut after) = (Vec::new(), String::new());
        loop {
            let (ids, next) = page(&scene, &format!("?limit={limit}{after}")).await;
            assert!(ids.len() <= limit);
            seen.extend(ids);
            let Some(next) = next.as_str() else { break };
            after = format!("&after={}", next.replace('%', "%25").replace(' ', "+"));
            after = after.replace('é', "%C3%A9");
        }
        assert_eq!(seen, all, "limit {limit}");
    }
    let whole = scene.get("/v1/commands?limit=1", &[EYE]).await.json();
    assert_eq!(whole["commands"][0], scene.story("z").await, "the object of one command");
}

async fn a_filter_lists_what_passes_it<S: Workflows>(scene: Scene<S>) {
    for id in ["a", "b", "c"] {
        scene.enqueue(id).await;
    }
    scene.report(&json!({"command_id": "b", "outcome": "completed"})).await.says("recorded");
    for (query, ids) in [
        ("?state=pending", vec!["a", "c"]),
        ("?state=completed", vec!["b"]),
        ("?state=parked", vec![]),
        ("?destination=shop&kind=order.paid", vec!["a", "b", "c"]),
        ("?destination=mail", vec![]),
        ("?kind=order", vec![]),
        ("?stream=s", vec![]),
        ("?reason=reset", vec![]),
        ("?since=2001-01-01T00:00:00Z&until=2999-01-01T00:00:00Z", vec!["a", "b", "c"]),
        ("?until=2001-01-01T00:00:00Z", vec![]),
        ("?after=a&state=pending", vec!["c"]),
    ] {
        assert_eq!(page(&scene, query).await.0, ids, "{query}");
    }
}

async fn what_breaks_a_rule_is_refused_by_its_name<S: Workflows>(scene: Scene<S>) {
    for (query, field) in [
        ("stat=dead", "stat"),
        ("state=done", "state"),
        ("limit=1001", "limit"),
        ("limit=1&limit=1", "limit"),
        ("since=yesterday", "since"),
        ("kind=%ff", "kind"),
    ] {
        let answered = scene.get(&format!("/v1/commands?{query}"), &[EYE]).await;
        let detail = answered.refused(400, "CF1026");
        assert_eq!(answered.json()["field"], field, "{detail}");
    }
    let answered = scene.get("/v1/commands?after=never", &[EYE]).await;
    answered.refused(404, "CF1012");
}

#[tokio::test]
async fn a_cursor_that_was_archived_since_is_no_end() {
    let scene = in_a_file(options()).await;
    scene.enqueue("a").await;
    scene.bury("old", "completed");
    scene.get("/v1/commands?after=old", &[EYE]).await.refused(409, "CF1041");
}

async fn a_page_ends_before_it_gets_long<S: Workflows>(scene: Scene<S>) {
    let body = "x".repeat(1_000_000);
    for n in 0..12 {
        let id = format!("c{n}");
        let command =
            counterfoil_core::domain::Command::bytes(id, "shop", "k", body.clone()).unwrap();
        scene.store.enqueue(vec![command]).await.unwrap().remove(0).unwrap();
    }
    let (first, next) = page(&scene, "").await;
    assert_eq!(first.len(), 9, "8 MiB, and what crosses them");
    let (second, end) = page(&scene, &format!("?after={}", next.as_str().unwrap())).await;
    assert_eq!((second.len(), end), (3, Value::Null));
}
