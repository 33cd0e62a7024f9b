//! The runner on a SQLite file, with processes that know nothing of each other.

use counterfoil_core::domain::ReceiptOutcome;
use counterfoil_core::domain::workflow::Status;
use counterfoil_sqlite::SqliteStore;
use counterfoil_workflow::runner::Options;

use super::programs::{Order, Tally};
use super::scene::Scene;

fn opened(folder: &tempfile::TempDir) -> Scene<SqliteStore> {
    let path = folder.path().join("w.db");
    Scene::new(SqliteStore::init(path, None).unwrap())
}

#[tokio::test]
async fn orders_are_started_asked_for_and_ended() {
    let folder = tempfile::tempdir().unwrap();
    let scene = opened(&folder);
    for number in 0..20 {
        scene.start(&format!("o-{number}"), "order").await;
    }
    assert_eq!(scene.idle(Order).await.inputs, 20);
    for number in 0..20 {
        scene.report(&format!("o-{number}:2:0"), ReceiptOutcome::Completed).await;
    }
    let again = opened(&folder);
    let end = again.idle(Order).await;
    assert_eq!((end.inputs, end.loads), (20, 20), "{end:?}");
    for number in 0..20 {
        let of = format!("o-{number}");
        assert_eq!(again.status(&of).await, Some(Status::Completed), "{of}");
        assert_eq!(again.issued(&of).await.len(), 1, "{of}");
    }
    again.must_hold(Order).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_runners_on_one_file_give_each_signal_its_effect_once() {
    const SIGNALS: usize = 300;
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (opened(&folder), opened(&folder));
    for name in ["t-1", "t-2", "t-3"] {
        one.start(name, "tally").await;
        one.signals(name, (0..SIGNALS).map(|n| format!("s{n}"))).await;
    }
    let run = |scene: &Scene<SqliteStore>, owner: &str| {
        let options = Options::default().owner(owner).batch(50);
        let runner = scene.runner().workflow(Tally::new()).options(options);
        tokio::spawn(runner.build().unwrap().run_until_idle())
    };
    let (first, second) = (run(&one, "one"), run(&other, "other"));
    let (first, second) = (first.await.unwrap().unwrap(), second.await.unwrap().unwrap());
    let end = one.idle(Tally::new()).await;
    assert_eq!(first.inputs + second.inputs + end.inputs, 3 * (SIGNALS as u64 + 1));
    for name in ["t-1", "t-2", "t-3"] {
        assert_eq!(one.issued(name).await.len(), SIGNALS, "{name}");
        assert_eq!(one.events(name).await.len(), 1 + 2 * SIGNALS, "{name}");
    }
    one.must_hold(Tally::new()).await;
}
