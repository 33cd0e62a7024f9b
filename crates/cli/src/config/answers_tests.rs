//! How a receiver is asked, and the habits of its answers: what is taken, what is refused.

use counterfoil_core::domain::{
    Asking, Completion, Contract, Key, KeyForm, Meaning, NotThere, Profile, Span, Success,
};
use serde_json::json;

use super::DestinationSettings;
use super::tests::{config, refused};
use super::warning::warnings;

/// Shipping, with `lines` beside what is required.
fn shipping(lines: &str) -> DestinationSettings {
    let text = format!(
        "[destination.shipping]\ntransport = \"http\"\nurl = \"https://a/x\"\n\
         idempotent = false\n{lines}\n"
    );
    let config = config(&text);
    let read = config.relay().and_then(|relay| config.destinations(&relay, &[]));
    read.unwrap_or_else(|failure| panic!("{failure:?}")).remove(0)
}

fn contract(lines: &str) -> Contract {
    shipping(lines).terms.contract
}

#[test]
fn ask_is_read_with_its_defaults() {
    let settings = shipping("ask = { url = \"https://a/c/{command_id}\", quiet = \"60s\" }");
    assert_eq!(settings.ask_url.as_deref(), Some("https://a/c/{command_id}"));
    assert_eq!(settings.terms.contract.ask, Some(Asking::new(Span::from_secs(60))));
    assert_eq!(settings.terms.contract.ask.unwrap().max_asks, 20);
    assert_eq!(shipping("").ask_url, None);
}

#[test]
fn ask_is_read_whole_and_its_bound_stands_inside_or_beside_it() {
    let not_there = "not_there = { status = 404, json = \"/error\", in = [\"no_such_key\", 7] }";
    let url = "url = \"http://a/c?k={key}\", quiet = \"11s\"";
    let inside = contract(&format!("ask = {{ {url}, max_asks = 3, {not_there} }}")).ask.unwrap();
    assert_eq!(inside.max_asks, 3);
    let words = vec![json!("no_such_key"), json!(7)];
    let said = NotThere { status: 404, json: Some("/error".into()), one_of: words };
    assert_eq!(inside.not_there, Some(said));
    let beside = contract(&format!("max_asks = 3\nask = {{ {url} }}")).ask.unwrap();
    assert_eq!(beside, Asking { max_asks: 3, ..Asking::new(Span::from_secs(11)) });
    let alone = contract(&format!("ask = {{ {url}, not_there = {{ status = 410 }} }}"));
    assert_eq!(alone.ask.unwrap().not_there.unwrap().status, 410);
}

#[test]
fn an_ask_that_cannot_be_believed_is_refused_with_its_line() {
    let cases = [
        ("ask = { quiet = \"60s\" }", "`destination.shipping.ask.url` is missing"),
        ("ask = { url = \"http://a/{key}\" }", "ask.quiet` is missing"),
        ("ask = { url = \"http://a/c\", quiet = \"60s\" }", "names no command"),
        ("ask = { url = \"http://a/{id}\", quiet = \"60s\" }", "{command_id} and {key} only"),
        ("ask = { url = \"http://{key}/\", quiet = \"60s\" }", "in the path or the query"),
        ("ask = { url = \"http://a/{key}#b\", quiet = \"60s\" }", "a fragment"),
        ("ask = { url = \"a/{key}\", quiet = \"60s\" }", "http://"),
        ("ask = { url = \"http://a/{key}\", quiet = \"10s\" }", "than a request can live"),
        ("ask = { url = \"http://a/{key}\", quiet = \"0s\" }", "is zero"),
        ("ask = { url = \"http://a/{key}\", quiet = \"60s\", max_asks = 0 }", "at least 1"),
        ("ask = { url = \"http://a/{key}\", quiet = \"60s\", asks = 1 }", "unknown field `asks`"),
        ("max_asks = 3", "cannot be asked"),
        (
            "max_asks = 3\nask = { url = \"http://a/{key}\", quiet = \"60s\", max_asks = 3 }",
            "given twice",
        ),
    ];
    for (lines, why) in cases {
        let refused = refused(lines);
        assert!(refused.starts_with("[2] c.toml:"), "{refused}");
        assert!(refused.contains(why) && refused.contains('^'), "{lines}: {refused}");
    }
    let secret = refused("ask = { url = \"http://me:hunter2@a/{key}\", quiet = \"60s\" }");
    assert!(secret.contains("holds credentials") && !secret.contains("hunter2"), "{secret}");
}

#[test]
fn a_not_there_that_says_nothing_is_refused() {
    let refused = |not_there: &str| {
        let url = "url = \"http://a/{key}\", quiet = \"60s\"";
        refused(&format!("ask = {{ {url}, not_there = {not_there} }}"))
    };
    assert!(refused("{}").contains("`status` is missing"));
    assert!(refused("{ status = 600 }").contains("100 to 599"));
    assert!(refused("{ status = 200 }").contains("a 2xx alone"));
    assert!(refused("{ status = 404, json = \"/error\" }").contains("go together"));
    assert!(refused("{ status = 404, in = [1] }").contains("go together"));
    assert!(refused("{ status = 404, json = \"error\", in = [1] }").contains("JSON pointer"));
    assert!(refused("{ status = 404, json = \"/error\", in = [] }").contains("is empty"));
    assert!(refused("{ status = 404, word = \"x\" }").contains("unknown field `word`"));
}

#[test]
fn answers_are_statuses_and_meanings_by_name() {
    let read = contract(
        "answers = { \"404\" = \"rejected\", \"503\" = \"not_sent\", \"409\" = \"completed\" }",
    );
    let answers: Vec<_> = read.habits.answers.into_iter().collect();
    let wanted = [(404, Meaning::Rejected), (409, Meaning::Completed), (503, Meaning::NotSent)];
    assert_eq!(answers, wanted);
    let ask = "ask = { url = \"http://a/{key}\", quiet = \"60s\" }\nanswers = { 500 = \"ask\" }";
    assert_eq!(contract(ask).habits.answers[&500], Meaning::Ask);
    for status in ["99", "600", "4xx", "-1", "0404x"] {
        let refused = refused(&format!("answers = {{ \"{status}\" = \"rejected\" }}"));
        assert!(refused.contains("write 100 to 599") && refused.contains(status), "{refused}");
    }
    let wrong = refused("answers = { \"404\" = \"refused\" }");
    assert!(wrong.contains("answers.404") && wrong.contains("not_sent, unknown, ask"), "{wrong}");
    let cannot = refused("answers = { \"500\" = \"ask\" }");
    assert!(cannot.contains("cannot be asked") && cannot.contains("\"unknown\""), "{cannot}");
}

#[test]
fn success_and_outcome_are_places_in_a_body() {
    let json = contract("success = { json = \"/code\", in = [0, \"ok\"] }").habits.success;
    let one_of = vec![json!(0), json!("ok")];
    assert_eq!(json, Some(Success::Json { json: "/code".into(), one_of }));
    let text = contract("success = { text = \"success\" }").habits.success;
    assert_eq!(text, Some(Success::Text { text: "success".into() }));
    let codes = "outcome = { json = \"/a/b\", unknown = [21], completed = [31], rejected = [33] }";
    let codes = contract(codes).habits.outcome.unwrap();
    assert_eq!(codes.json, "/a/b");
    assert_eq!(codes.of[&Meaning::Unknown], [json!(21)]);
    assert_eq!(codes.of.len(), 3);
    let cases = [
        ("success = { json = \"/code\" }", "{ text = \"success\" }"),
        ("success = { json = \"/code\", in = [0], text = \"x\" }", "{ text = \"success\" }"),
        ("success = { json = \"code\", in = [0] }", "JSON pointer"),
        ("success = { json = \"/a~2\", in = [0] }", "JSON pointer"),
        ("success = { text = \" \" }", "is empty"),
        ("success = { code = 1 }", "unknown field `code`"),
        ("outcome = { completed = [31] }", "`outcome.json` is missing"),
        ("outcome = { json = \"/code\" }", "names no code"),
        ("outcome = { json = \"/c\", completed = [1], rejected = [1] }", "another meaning"),
        ("outcome = { json = \"/c\", completed = [] }", "is empty"),
        ("outcome = { json = \"/c\", ask = [1] }", "cannot be asked"),
        ("outcome = { json = \"/c\", done = [1] }", "unknown field `done`"),
        ("outcome = { json = \"\", completed = [1] }", "JSON pointer"),
    ];
    for (lines, why) in cases {
        let refused = refused(lines);
        assert!(refused.contains(why), "{lines}: {refused}");
    }
}

#[test]
fn profile_and_key_are_read_and_others_refused() {
    assert_eq!(contract("profile = \"webhook\"").habits.profile, Profile::Webhook);
    let key = contract("key = { header = \"X-Key\", form = \"uuid\", prefix = \"cf-\" }");
    let wanted = Key { header: "X-Key".into(), form: KeyForm::Uuid, prefix: "cf-".into() };
    assert_eq!(key.habits.key, wanted);
    assert_eq!(contract("key = {}").habits.key, Key::default());
    let cases = [
        ("profile = \"slack\"", "\"webhook\""),
        ("profile = \"webhook\"\ncompletion = \"receipt\"", "keep one"),
        ("key = { header = \"X Key\" }", "no name of a header"),
        ("key = { form = \"hex\" }", "\"bare\""),
        ("key = { prefix = \"a\\n\" }", "control character"),
        ("key = { suffix = \"a\" }", "unknown field `suffix`"),
    ];
    for (lines, why) in cases {
        let refused = refused(lines);
        assert!(refused.contains(why), "{lines}: {refused}");
    }
}

#[test]
fn tls_and_proxy_are_read_and_others_refused() {
    let read = shipping("tls = { ca = \"ca.pem\", cert = \"c.pem\", key = \"c.key\" }").tls;
    assert_eq!(read.ca, Some("ca.pem".into()));
    assert_eq!((read.cert, read.key), (Some("c.pem".into()), Some("c.key".into())));
    assert!(shipping("proxy = \"env\"").proxy_of_env);
    assert!(!shipping("").proxy_of_env);
    let cases = [
        ("url = \"https://a/\"\ntls = { cert = \"c.pem\" }", "go together"),
        ("url = \"https://a/\"\ntls = {}", "is empty"),
        ("url = \"https://a/\"\ntls = { ca = \"\" }", "is empty"),
        ("url = \"https://a/\"\ntls = { roots = \"ca.pem\" }", "unknown field `roots`"),
        ("url = \"http://a/\"\ntls = { ca = \"ca.pem\" }", "nothing is encrypted"),
        ("proxy = \"http://me:hunter2@p\"", "\"env\""),
    ];
    for (lines, why) in cases {
        let refused = refused(lines);
        assert!(refused.contains(why) && !refused.contains("hunter2"), "{lines}: {refused}");
    }
}

#[test]
fn what_works_and_is_perhaps_not_meant_is_said() {
    let said = |lines: &str, api: &str| {
        let api = config(api).api().unwrap();
        let settings = shipping(lines);
        warnings(&[settings], api.as_ref(), None).into_iter().map(|w| w.text).collect::<Vec<_>>()
    };
    assert!(said("", "").is_empty());
    let receipt = "completion = \"receipt\"";
    assert_eq!(shipping(receipt).terms.contract.completion, Completion::Receipt);
    assert!(said(receipt, "")[0].contains("counterfoil_report by SQL"));
    assert!(said(receipt, "[api]\n")[0].contains("public_url is not given"));
    assert!(said(receipt, "[api]\npublic_url = \"https://cf.example\"\n").is_empty());
    let bare = "ask = { url = \"http://a/{key}\", quiet = \"60s\", not_there = { status = 404 } }";
    assert!(said(bare, "")[0].contains("any gateway"));
}
