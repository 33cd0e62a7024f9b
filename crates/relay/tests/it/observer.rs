//! What a relay announces, and the page that documents it.
//!
//! Guarantees: a notice that the page does not name fails here. Does not: hold the words of the
//! page to the code.

use counterfoil_core::port::Notice;

use crate::scene::Scene;

/// The names of the notices, from the port's own source.
fn variants() -> Vec<&'static str> {
    let source = include_str!("../../../core/src/port/observer.rs");
    let body = source.split_once("pub enum Notice {").unwrap().1;
    let body = body.split_once("\n}\n").unwrap().0;
    let names = body.lines().filter_map(|line| line.strip_prefix("    ")?.strip_suffix(" {"));
    names.filter(|name| name.starts_with(char::is_uppercase)).collect()
}

#[test]
fn every_notice_stands_in_the_table() {
    let page = include_str!("../../../../docs/observer.md");
    let variants = variants();
    assert!(variants.len() >= 13, "{variants:?}");
    for name in &variants {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("docs/observer.md has no row for {name}"));
        assert!(row.matches('|').count() >= 5, "{row}");
    }
    let rows = page.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, variants.len(), "a row for something that is no notice");
}

#[tokio::test(start_paused = true)]
async fn a_run_is_told_in_order() {
    let scene = Scene::new();
    scene.enqueue("A").await;
    scene.run_until_idle().await;
    let told: Vec<_> = scene.heard.all();
    let told: Vec<_> = told
        .iter()
        .map(|notice| match notice {
            Notice::Started { owner, .. } => format!("started {owner}"),
            Notice::Claimed { count, taken_over } => format!("claimed {count} {taken_over}"),
            Notice::Settled { command, outcome, now, attempt, .. } => {
                format!("settled {command} {outcome} {now} {attempt}")
            }
            Notice::Idle { next_due } => format!("idle {next_due:?}"),
            Notice::Stopped { abandoned, .. } => format!("stopped {abandoned}"),
            other => format!("{other:?}"),
        })
        .collect();
    let expected = [
        "started relay-1",
        "claimed 1 0",
        "settled A completed completed 1",
        "idle None",
        "stopped 0",
    ];
    assert_eq!(told, expected);
}
