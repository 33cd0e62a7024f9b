//! `explain`, `completions`, `man`: what there is to read without a store.

use crate::program::Desk;

#[test]
fn a_code_is_explained_with_its_way_out() {
    let desk = Desk::empty();
    for code in ["CF0104", "cf0104", "0104"] {
        let said = desk.run(&["explain", code]);
        for word in ["CF0104", "means: The id stands", "way out: A new intent", "docs/errors.md"] {
            assert!(said.is_done().out.contains(word), "{word}: {said:?}");
        }
    }
    let law = desk.run(&["explain", "CF0813", "--json"]).json();
    assert!(law["means"].as_str().unwrap().starts_with("A doubt goes only"), "{law}");
    assert_eq!(law["page"], "docs/laws.md");
    assert_eq!(desk.run(&["explain", "CF1013", "--json"]).json()["status"], "409");
    desk.run(&["explain", "CF9999"]).refuses(1, &["no code \"CF9999\"", "counterfoil explain"]);
    let all = desk.run(&["explain"]);
    assert!(all.is_done().out.lines().count() > 150, "{all:?}");
    assert!(all.out.lines().is_sorted(), "{all:?}");
}

#[test]
fn a_shell_is_told_every_verb() {
    let desk = Desk::empty();
    for shell in ["bash", "zsh", "fish"] {
        let said = desk.run(&["completions", shell]);
        for verb in ["enqueue", "resolve", "explain"] {
            assert!(said.is_done().out.contains(verb), "{shell} {verb}");
        }
    }
    assert_eq!(desk.run(&["completions", "tcsh"]).code, Some(2));
}

#[test]
fn a_manual_page_is_roff_with_every_flag() {
    let desk = Desk::empty();
    let page = desk.run(&["man"]);
    for word in [".TH", "counterfoil", "resolve"] {
        assert!(page.is_done().out.contains(word), "{word}: {page:?}");
    }
    let page = desk.run(&["man", "retry"]);
    for word in [".TH counterfoil-retry", "may\\-act\\-twice"] {
        assert!(page.is_done().out.contains(word), "{word}: {page:?}");
    }
    desk.run(&["man", "fly"]).refuses(2, &["`fly` is no verb"]);
    assert!(!desk.run(&["--help"]).out.contains("manual page"), "it is for packagers");
}
