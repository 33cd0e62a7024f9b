//! The audit over HTTP: holds, violated, one at a time, and bounded.
//!
//! Guarantees: over a real file that is damaged by hand. Does not: repeat each law.

use std::time::Duration;

use counterfoil_core::audit::Expect;
use counterfoil_sqlite::open_own;
use serde_json::json;

use crate::scene::{EYE, SHOP, in_a_file, options};

#[tokio::test]
async fn it_holds_and_says_what_does_not() {
    let scene = in_a_file(options()).await;
    scene.enqueue("a").await;
    let holds = json!({"holds": true, "checked": 1, "acknowledged": 0, "violations": []});
    assert_eq!(scene.get("/v1/audit", &[EYE]).await.json(), holds);
    scene.get("/v1/audit", &[SHOP]).await.refused(403, "CF1002");
    scene.get("/v1/audit?full=1", &[EYE]).await.refused(400, "CF1026");
    let (own, _) = open_own(&scene.path()).unwrap();
    own.execute("DELETE FROM counterfoil_delivery", []).unwrap();
    let report = scene.get("/v1/audit", &[EYE]).await.json();
    assert_eq!(report["holds"], false);
    assert_eq!(report["violations"][0]["ids"], json!(["a"]));
    assert!(report["violations"][0]["code"].as_str().unwrap().starts_with("CF08"));
}

#[tokio::test]
async fn it_checks_what_the_user_expects() {
    let mut options = options();
    options.expect = vec![Expect::new("SELECT 'b'")];
    let scene = in_a_file(options).await;
    scene.enqueue("a").await;
    let report = scene.get("/v1/audit", &[EYE]).await.json();
    assert_eq!((&report["holds"], &report["violations"][0]["ids"]), (&json!(false), &json!(["b"])));
}

/// A query without an end: the audit runs until its bound, nobody else's meanwhile, and both hear.
#[tokio::test(flavor = "multi_thread")]
async fn one_runs_at_a_time_and_not_for_ever() {
    let mut options = options();
    options.audit_timeout = Duration::from_millis(400);
    let endless = "WITH RECURSIVE n(i) AS \
                   (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000000) \
                   SELECT i FROM n WHERE i > 5999999";
    options.expect = vec![Expect::new(endless)];
    let scene = in_a_file(options).await;
    let first = scene.get("/v1/audit", &[EYE]);
    let second = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        scene.get("/v1/audit", &[EYE]).await
    };
    let (first, second) = tokio::join!(first, second);
    first.refused(503, "CF1029");
    second.refused(429, "CF1028");
    assert!(first.header("retry-after").is_some() && second.header("retry-after").is_some());
    assert_eq!(scene.get("/livez", &[]).await.status, 200);
}
