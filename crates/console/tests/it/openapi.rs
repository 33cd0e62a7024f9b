//! The OpenAPI document held to the API: every route, method, status, parameter and member.
//!
//! Guarantees: what the document says is so, and what is so stands in the document. Does not: try
//! every value; schemathesis does, in the command's own tests.

use std::collections::{BTreeMap, BTreeSet};

use counterfoil_core::domain::Outcome;
use counterfoil_core::port::Store as _;
use serde_json::{Value, json};

use crate::client::{Answered, request, send};
use crate::scene::{EYE, OPS, SHOP, Scene, completed, in_a_file, in_memory, options};
use crate::schema::{Schema, must_fit};

const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];

fn document() -> Value {
    serde_json::from_str(include_str!("../../src/openapi.json")).unwrap()
}

/// By path: its methods.
fn operations(document: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let paths = document["paths"].as_object().unwrap().iter();
    let methods =
        |item: &Value| item.as_object().unwrap().keys().map(|m| m.to_uppercase()).collect();
    paths.map(|(path, item)| (path.clone(), methods(item))).collect()
}

#[tokio::test]
async fn it_is_served_to_every_role_as_it_stands() {
    let scene = in_memory(options()).await;
    for caller in [SHOP, EYE, OPS] {
        assert_eq!(scene.get("/openapi.json", &[caller]).await.json(), document());
    }
    scene.get("/openapi.json", &[]).await.refused(401, "CF1001");
}

#[tokio::test]
async fn its_paths_and_methods_are_the_routes() {
    let scene = in_memory(options()).await;
    let operations = operations(&document());
    let source = include_str!("../../src/route.rs");
    let routes = source.split(".route(\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let routes: BTreeSet<_> = routes.map(str::to_owned).collect();
    assert_eq!(routes, operations.keys().cloned().collect());
    for (path, methods) in operations {
        let target = path.replace("{id}", "a").replace("{name}", "shop").replace("{stream}", "t");
        for method in METHODS {
            let line = format!("{method} {target}");
            let answered = send(scene.at, request(&line, &[OPS], b"")).await;
            assert_eq!(answered.status == 405, !methods.contains(method), "{line}: {answered:?}");
            if answered.status == 405 {
                answered.refused(405, "CF1005");
                let allowed = answered.header("allow").unwrap().split(',').map(str::trim);
                let allowed: BTreeSet<_> =
                    allowed.filter(|method| *method != "HEAD").map(str::to_owned).collect();
                assert_eq!(allowed, methods, "{line}");
            }
        }
    }
}

/// Asks, and holds the answer to the document.
async fn asked<S: counterfoil_core::port::Workflows>(
    scene: &Scene<S>,
    (method, path): (&str, &str),
    (caller, id, body): (&str, &str, &str),
) -> Answered {
    let target = path.replace("{id}", id).replace("{name}", id).replace("{stream}", id);
    let line = format!("{method} {target}");
    let answered = send(scene.at, request(&line, &[caller], body.as_bytes())).await;
    let document = document();
    let place = path.split('?').next().unwrap();
    let operation = &document["paths"][place][method.to_lowercase()];
    let status = answered.status.to_string();
    let schema = Schema::new(&document);
    let response = schema.resolved(&operation["responses"][&status]);
    let media = answered.header("content-type").unwrap_or_default().split(';').next().unwrap();
    let content = &response["content"][media]["schema"];
    assert!(content.is_object(), "{line}: {status} {media} is not in the document");
    if media.ends_with("json") {
        must_fit(&schema, content, &answered.json(), &line);
    }
    answered
}

type Call = ((&'static str, &'static str), (&'static str, &'static str, &'static str), u16);

/// Method and path; caller, id and body; the status.
fn calls() -> Vec<Call> {
    let show = ("GET", "/v1/commands/{id}");
    vec![
        (("GET", "/livez"), (EYE, "", ""), 200),
        (("GET", "/readyz"), (EYE, "", ""), 200),
        (("GET", "/metrics"), (EYE, "", ""), 200),
        (("GET", "/metrics"), (SHOP, "", ""), 403),
        (("GET", "/openapi.json"), (SHOP, "", ""), 200),
        (("GET", "/v1/status"), (EYE, "", ""), 200),
        (("GET", "/v1/status"), ("X: y", "", ""), 401),
        (("GET", "/v1/audit"), (EYE, "", ""), 200),
        (("GET", "/v1/audit?x=1"), (EYE, "", ""), 400),
        (("GET", "/v1/commands"), (EYE, "", ""), 200),
        (("GET", "/v1/commands?limit=1"), (EYE, "", ""), 200),
        (("GET", "/v1/commands?limit=x"), (EYE, "", ""), 400),
        (("GET", "/v1/commands?after=x"), (EYE, "", ""), 404),
        (show, (EYE, "a", ""), 200),
        (show, (EYE, "b", ""), 200),
        (show, (EYE, "c", ""), 200),
        (show, (EYE, "x", ""), 404),
        (show, (EYE, "%ff", ""), 400),
        (("POST", "/v1/receipts"), (SHOP, "", r#"{"command_id":"b","outcome":"completed"}"#), 200),
        (("POST", "/v1/receipts"), (SHOP, "", r#"{"command_id":"b","outcome":"rejected"}"#), 409),
        (("POST", "/v1/receipts"), (SHOP, "", "{"), 400),
        (("POST", "/v1/commands/{id}/retry"), (OPS, "c", "{}"), 200),
        (("POST", "/v1/commands/{id}/retry"), (OPS, "c", "{}"), 409),
        (("POST", "/v1/commands/{id}/cancel"), (OPS, "c", r#"{"reason":"r"}"#), 200),
        (("POST", "/v1/commands/{id}/redeliver"), (OPS, "a", r#"{"reason":"r"}"#), 200),
        (("POST", "/v1/commands/{id}/redeliver"), (OPS, "a", "{}"), 422),
        (
            ("POST", "/v1/commands/{id}/resolve"),
            (OPS, "a", r#"{"outcome":"completed","evidence":"e","result":[1]}"#),
            200,
        ),
        (("POST", "/v1/commands/{id}/resolve"), (OPS, "x", "{}"), 422),
        (("POST", "/v1/destinations/{name}/pause"), (OPS, "shop", r#"{"reason":"r"}"#), 200),
        (("GET", "/v1/status"), (EYE, "", ""), 200),
        (("POST", "/v1/destinations/{name}/resume"), (OPS, "shop", "{}"), 200),
        (("POST", "/v1/destinations/{name}/resume"), (OPS, "shpo", "{}"), 404),
        (show, (EYE, "a", ""), 200),
        (show, (EYE, "c", ""), 200),
        (("POST", "/v1/workflows/{stream}/start"), (OPS, "t", r#"{"workflow":"w"}"#), 200),
        (("POST", "/v1/workflows/{stream}/start"), (OPS, "t", r#"{"workflow":"x"}"#), 409),
        (("POST", "/v1/workflows/{stream}/signal"), (OPS, "t", r#"{"name":"s","id":"1"}"#), 200),
        (("POST", "/v1/workflows/{stream}/cancel"), (OPS, "t", r#"{"reason":"r"}"#), 200),
        (("POST", "/v1/workflows/{stream}/retry"), (OPS, "t", "{}"), 409),
        (("POST", "/v1/workflows/{stream}/retry"), (OPS, "u", "{}"), 404),
        (("POST", "/v1/workflows/{stream}/drop"), (OPS, "u", r#"{"input":"i","reason":"r"}"#), 404),
        (("POST", "/v1/workflows/{stream}/end"), (OPS, "t", r#"{"reason":"r"}"#), 409),
        (("GET", "/v1/workflows"), (EYE, "", ""), 200),
        (("GET", "/v1/workflows?status=waiting"), (EYE, "", ""), 200),
        (("GET", "/v1/orphans"), (EYE, "", ""), 200),
        (("GET", "/v1/orphans?limit=0"), (EYE, "", ""), 400),
        (("GET", "/v1/workflows/{stream}"), (EYE, "t", ""), 200),
        (("GET", "/v1/workflows/{stream}"), (EYE, "u", ""), 404),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn real_answers_are_as_it_says() {
    let mut options = options();
    options.served = Some(vec!["mail".into()]);
    let scene = in_a_file(options).await;
    for id in ["a", "b", "c"] {
        scene.enqueue(id).await;
        let claimed = scene.claim().await;
        let outcome = match id {
            "a" => completed(),
            "b" => Outcome::unknown("reset"),
            _ => Outcome::Conflict { reason: "other content".into() },
        };
        scene.settle(&claimed, outcome).await;
    }
    for (operation, call, status) in calls() {
        let answered = asked(&scene, operation, call).await;
        assert_eq!(answered.status, status, "{operation:?} {call:?}: {answered:?}");
    }
}

#[tokio::test]
async fn every_parameter_of_pages_is_in_it() {
    let document = document();
    let parameters = document["paths"]["/v1/commands"]["get"]["parameters"].as_array().unwrap();
    let scene = in_memory(options()).await;
    let answered = scene.get("/v1/commands?nonsense=1", &[EYE]).await;
    let names: Vec<_> = parameters.iter().map(|p| p["name"].as_str().unwrap()).collect();
    let known = format!("known are {}", names.join(", "));
    assert!(answered.refused(400, "CF1026").ends_with(&known), "{answered:?}");
    let states = parameters[0]["schema"]["enum"].as_array().unwrap();
    let answered = scene.get("/v1/commands?state=nonsense", &[EYE]).await;
    let states: Vec<_> = states.iter().map(|state| state.as_str().unwrap()).collect();
    let known = format!("is one of {}", states.join(", "));
    assert!(answered.refused(400, "CF1026").ends_with(&known), "{answered:?}");
    assert!(scene.store.status().await.unwrap().destinations.is_empty());
    assert_eq!(document["openapi"], json!("3.1.0"));
}
