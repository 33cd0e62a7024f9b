//! `transport = "log"`: what it needs not, what it takes, what is said about it.

use counterfoil_core::domain::{Completion, Idempotent, Span};

use super::destination::Way;
use super::tests::{config, whole};
use super::warning::warnings;
use super::{Config, DestinationSettings};

fn shipping(config: &Config) -> DestinationSettings {
    let read = config.relay().and_then(|relay| config.destinations(&relay, &[]));
    read.unwrap_or_else(|failure| panic!("{failure:?}")).remove(0)
}

#[test]
fn it_needs_nothing_else_and_repeats_are_safe() {
    let read = config("[destination.shipping]\ntransport = \"log\"\n");
    let settings = shipping(&read);
    assert_eq!(settings.way, Way::Log { body: false });
    assert_eq!(settings.terms.contract.idempotent, Idempotent::Forever);
    assert!(read.is_logged("shipping") && !read.is_logged("mail"));
    let read = config("[destination.shipping]\ntransport = \"log\"\nbody = true\n");
    assert_eq!(shipping(&read).way, Way::Log { body: true });
}

/// It was refused for the time-out of a request that is never made.
#[test]
fn it_needs_no_lease_longer_than_a_request() {
    let read = config("[relay]\nlease = \"3s\"\n[destination.shipping]\ntransport = \"log\"\n");
    assert_eq!(shipping(&read).way, Way::Log { body: false });
}

/// One word is changed for a dry run and back: the contract stays, so no relay refuses it.
#[test]
fn all_that_is_said_of_http_may_stay_and_makes_the_same_contract() {
    let with = |transport: &str| {
        config(&format!(
            "[destination.shipping]\ntransport = \"{transport}\"\nurl = \"https://a/x\"\n\
             idempotent = {{ key_ttl = \"30h\" }}\ncompletion = \"receipt\"\n\
             ask = {{ url = \"https://a/{{key}}\", quiet = \"60s\" }}\n\
             tls = {{ ca = \"ca.pem\" }}\n"
        ))
    };
    let (dry, real) = (shipping(&with("log")), shipping(&with("http")));
    assert_eq!(dry.terms, real.terms);
    assert_eq!(dry.terms.contract.completion, Completion::Receipt);
    let key_ttl = Span::from_secs(30 * 3600);
    assert_eq!(dry.terms.contract.idempotent, Idempotent::Window { key_ttl });
    assert!(!with("http").is_logged("shipping"));
}

#[test]
fn that_it_delivers_nowhere_is_said_and_nothing_else() {
    let read = config("[destination.shipping]\ntransport = \"log\"\ncompletion = \"receipt\"\n");
    let found = warnings(&[shipping(&read)], None, None);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].destination, "shipping");
    assert!(found[0].text.contains("delivered nowhere"), "{found:?}");
}

#[test]
fn a_body_over_http_and_a_transport_that_is_none_are_refused() {
    let http = "[destination.shipping]\ntransport = \"http\"\nurl = \"http://a\"\n\
                idempotent = false\nbody = true\n";
    let words = whole(http);
    assert!(words.contains("`body` is for transport = \"log\""), "{words}");
    let words = whole("[destination.shipping]\ntransport = \"pigeon\"\n");
    assert!(words.contains("use \"http\", or \"log\" for a dry run"), "{words}");
    let words = whole("[destination.shipping]\nurl = \"http://a\"\n");
    assert!(words.contains("`transport` is missing"), "{words}");
}
