//! What the configuration refuses, and what it means where it is accepted.

use super::*;
use counterfoil_core::domain::{Completion, Idempotent, OnParked};

const WHOLE: &str = r#"
[store]
url = "sqlite:orders.db"
source = "urn:example:orders"

[relay]
workers = 8
lease = "20s"
poll = "20ms"
drain = "1s"
body_bytes_max = "2MiB"

[audit]
expect = ["SELECT 1", { sql = "SELECT 2", kind = "order.paid" }]

[destination.shipping]
transport = "http"
url = "http://127.0.0.1:8080/commands"
request_timeout = "5s"
idempotent = { key_ttl = "24h" }
completion = "receipt"
retry = { initial = "500ms", max = "10m", max_attempts = 9, give_up_after = "10h" }
on_refusal = "reject"
headers = { X-Shop = "7" }
"#;

pub(super) fn config(text: &str) -> Config {
    Config::parse("c.toml".into(), text.into()).unwrap_or_else(|failure| panic!("{failure:?}"))
}

/// The refusal of a table of shipping that has `lines` beside what is required.
pub(super) fn refused(lines: &str) -> String {
    let plain = "transport = \"http\"\nurl = \"http://a/\"\nidempotent = false\n";
    let required: String = plain
        .split_inclusive('\n')
        .filter(|line| !lines.contains(&line[..line.find(' ').unwrap() + 2]))
        .collect();
    whole(&format!("[destination.shipping]\n{required}{lines}\n"))
}

pub(super) fn whole(text: &str) -> String {
    let config = match Config::parse("c.toml".into(), text.into()) {
        Ok(config) => config,
        Err(failure) => return failure.whole(),
    };
    let read = config.relay().and_then(|relay| config.destinations(&relay, &[]));
    let read = read.and_then(|_| config.api());
    read.expect_err("it was taken").whole()
}

#[test]
fn every_key_is_read() {
    let config = config(WHOLE);
    assert_eq!(config.store_url().unwrap().unwrap(), "sqlite:orders.db");
    assert_eq!(config.source().unwrap().unwrap(), "urn:example:orders");
    let expect = config.expect().unwrap();
    assert_eq!(expect[0], ("SELECT 1".into(), None));
    assert_eq!(expect[1], ("SELECT 2".into(), Some("order.paid".into())));
    let relay = config.relay().unwrap();
    assert_eq!((relay.workers, relay.body_bytes_max), (8, 2 << 20));
    assert_eq!(relay.lease, Span::from_secs(20));
    let all = config.destinations(&relay, &[]).unwrap();
    let shipping = &all[0];
    assert_eq!(shipping.name.as_str(), "shipping");
    let contract = &shipping.terms.contract;
    assert_eq!(contract.completion, Completion::Receipt);
    assert_eq!(contract.receipt_timeout, Span::from_secs(3600), "a tenth of give_up_after");
    assert_eq!(contract.idempotent, Idempotent::Window { key_ttl: Span::from_secs(86_400) });
    assert_eq!(shipping.terms.pace.lease, Span::from_secs(20));
    assert_eq!(shipping.terms.pace.max_attempts, 9);
    assert_eq!(shipping.headers, [("X-Shop".to_owned(), "7".to_owned())]);
}

#[test]
fn an_unknown_key_shows_its_line() {
    let refused = refused("ratee = \"200/s\"");
    assert!(refused.starts_with("[2] c.toml:5:1: unknown field `ratee`"), "{refused}");
    assert!(refused.contains("5 | ratee = \"200/s\"\n  | ^^^^^"), "{refused}");
    assert!(whole("[relay]\nworker = 1").contains("2 | worker = 1"));
    assert!(whole("[stor]\n").contains("unknown field `stor`"));
}

#[test]
fn limits_and_lanes_are_read_and_refused_by_their_own_words() {
    let text = "[announce]\nto = \"ops\"\n[destination.a]\ntransport = \"http\"\n\
         url = \"http://a/\"\nidempotent = false\n\
         concurrency = 7\nrate = \"90/min\"\non_parked = \"skip\"\n";
    let config = config(text);
    let all = config.destinations(&config.relay().unwrap(), &[]).unwrap();
    assert_eq!(all[0].limits.concurrency, Some(7));
    let rate = all[0].limits.rate.unwrap();
    assert_eq!((rate.count, rate.per), (90, Span::from_secs(60)));
    assert_eq!(all[0].terms.contract.on_parked, OnParked::Skip);
    let announce = config.announce().unwrap().unwrap();
    assert_eq!(announce.destination.as_str(), "ops");
    assert_eq!(announce.kind.as_str(), "counterfoil.parked");
    let notes = warnings(&all, None, Some(&announce));
    assert!(notes[0].text.contains("no [destination.ops] here"), "{notes:?}");
    assert!(refused("concurrency = 0").contains("give 1 to 10000"));
    assert!(refused("concurrency = \"7\"").contains("invalid type"));
    assert!(refused("rate = \"fast\"").contains("such as \"200/s\""));
    let skips = refused("on_parked = \"go on\"");
    assert!(skips.contains("\"block\"") && skips.contains("\"skip\""), "{skips}");
}

#[test]
fn an_announcement_needs_a_place_to_go() {
    let refused = |lines: &str| {
        let text = format!("[announce]\n{lines}\n");
        match Config::parse("c.toml".into(), text) {
            Ok(config) => config.announce().unwrap_err().whole(),
            Err(failure) => failure.whole(),
        }
    };
    assert!(refused("").contains("`announce.to` is missing"));
    assert!(refused("to = \"\"").contains("`announce.to`"));
    assert!(refused("to = \"ops\"\nkind = \"a\\u0000\"").contains("`announce.kind`"));
    assert!(refused("too = \"ops\"").contains("unknown field `too`"));
    assert_eq!(config("").announce(), Ok(None));
}

/// The story: a typo got a list of keys, one of them was tried, and refused in its turn.
#[test]
fn a_typo_is_offered_only_keys_that_are_taken() {
    let refused = refused("on_parkd = \"block\"");
    assert!(refused.contains("`on_parked`") && refused.contains("`proxy`"), "{refused}");
}

#[test]
fn idempotent_is_required_and_the_error_explains_the_three() {
    let missing = whole("[destination.a]\ntransport = \"http\"\nurl = \"http://a/\"\n");
    let vague = refused("idempotent = true");
    let unknown = refused("idempotent = \"always\"");
    for refused in [&missing, &vague, &unknown] {
        assert!(refused.contains("key_ttl = \"24h\""), "{refused}");
        assert!(refused.contains("\"forever\""), "{refused}");
        assert!(refused.contains("= false"), "{refused}");
    }
    assert!(missing.contains("[destination.a]"), "{missing}");
    assert!(refused("idempotent = { ttl = \"1h\" }").contains("expected `key_ttl`"));
    assert!(refused("idempotent = {}").contains("the table is empty: give `key_ttl`"));
    let two = refused("idempotent = { key_ttl = \"24h\", x = 1 }");
    assert!(two.contains("unknown field `x`") && !two.contains("`env`"), "{two}");
    assert!(refused("idempotent = 3").contains("\"forever\" or false"));
}

#[test]
fn numbers_that_do_not_fit_together_are_refused() {
    let text = refused("idempotent = { key_ttl = \"21h\" }");
    assert!(text.contains("95 % of key_ttl") && text.contains("[destination.shipping]"), "{text}");
    let text = refused("request_timeout = \"28s\"");
    assert!(text.contains("lease is 30s") && text.contains("request_timeout + 2s"), "{text}");
    assert!(refused("retry = { max_attempts = 0 }").contains("retry.max_attempts is zero"));
    assert!(refused("retry = { initial = \"0s\" }").contains("is zero"));
    let longer = refused("retry = { initial = \"11m\" }");
    assert!(
        longer.contains("retry.initial`: the first wait is longer than retry.max, 10m"),
        "{longer}"
    );
    let shorter = refused("retry = { max = \"499ms\" }");
    assert!(shorter.contains("retry.max`: the longest wait is shorter than retry.initial, 500ms"));
    assert!(whole("[relay]\nworkers = 0\n[destination.a]").contains("1 to 10000"));
    assert!(whole("[relay]\nbody_bytes_max = \"17MiB\"\n").contains("at most 16MiB"));
    assert!(whole("[relay]\nlease = \"10\"\n").contains("2 | lease = \"10\""));
    assert!(whole("[relay]\nbody_bytes_max = \"1MB\"\n").contains("no size"));
}

#[test]
fn credentials_in_plain_text_are_refused_and_not_shown() {
    let cases = [
        ("url = \"http://me:hunter2@a/\"", "holds credentials"),
        ("secrets = [\"whsec_hunter2\"]", "a secret stands in plain text"),
        ("headers = { Authorization = \"Bearer hunter2\" }", "a secret stands in plain text"),
        ("headers = { cookie = \"hunter2\" }", "a secret stands in plain text"),
        ("headers = { X-Api-Key = \"hunter2\" }", "a secret stands in plain text"),
    ];
    for (line, why) in cases {
        let refused = refused(line);
        assert!(refused.contains(why) && refused.contains("{ env = \"NAME\" }"), "{refused}");
        assert!(!refused.contains("hunter2"), "{refused}");
    }
}

#[test]
fn what_this_transport_cannot_do_is_refused() {
    assert!(refused("transport = \"nats\"").contains("not yet: \"nats\""));
    assert!(refused("completion = \"accepted\"").contains("for brokers"));
    assert!(refused("completion = \"done\"").contains("\"receipt\""));
    assert!(refused("on_refusal = \"drop\"").contains("\"park\""));
    assert!(refused("url = \"ftp://a/\"").contains("http://"));
    let missing = whole("[destination.a]\nidempotent = false\nurl = \"http://a/\"\n");
    assert!(missing.contains("`transport` is missing"), "{missing}");
    let missing = whole("[destination.a]\nidempotent = false\ntransport = \"http\"\n");
    assert!(missing.contains("`url` is missing"), "{missing}");
    assert!(whole("").contains("names no destination"));
}

#[test]
fn a_missing_variable_is_named_with_the_key_that_asks_for_it() {
    let refused = refused("headers = { Authorization = { env = \"COUNTERFOIL_NO_SUCH\" } }");
    assert!(refused.contains("headers.Authorization"), "{refused}");
    assert!(refused.contains("COUNTERFOIL_NO_SUCH is not set"), "{refused}");
}

#[test]
fn only_chooses_and_an_unknown_name_is_refused() {
    let config = config(WHOLE);
    let relay = config.relay().unwrap();
    assert_eq!(config.destinations(&relay, &["shipping".into()]).unwrap().len(), 1);
    let refused = config.destinations(&relay, &["billing".into()]).unwrap_err().whole();
    assert!(refused.contains("--only billing") && refused.contains("shipping"), "{refused}");
}
