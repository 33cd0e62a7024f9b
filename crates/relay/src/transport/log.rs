//! A destination that is a line in the log: nothing is delivered anywhere.
//!
//! Guarantees: each command becomes one line and completes; its body is shown only where that is
//! asked for, and cut. Does not: act; a crash between the line and the settle writes a second line
//! at most, whatever the contract says of repeats. For development and dry runs.

use std::fmt::Write as _;

use counterfoil_core::domain::{Answer, Outcome, ResultBody, Span};
use counterfoil_core::port::{Attempt, BoxFuture, Question, Transport};

/// How much of a body a line shows, in bytes: 4 KiB.
pub const BODY_SHOWN_MAX: usize = 4096;

/// What its receipts rest on.
pub const EVIDENCE: &str = "written to the log, delivered nowhere";

/// Writes each command to the log, as an event of `tracing` at level INFO, and completes it.
///
/// # Example
/// ```
/// use counterfoil_relay::transport::log::LogTransport;
///
/// let shipping = LogTransport::new().body(true);
/// # let _ = shipping;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct LogTransport {
    body: bool,
}

impl LogTransport {
    /// A transport that shows no body.
    #[must_use]
    pub const fn new() -> Self {
        Self { body: false }
    }

    /// Sets whether bodies are shown, at most [`BODY_SHOWN_MAX`] bytes of each. Default no: a log
    /// is read by more people than a store.
    #[must_use]
    pub const fn body(mut self, shown: bool) -> Self {
        self.body = shown;
        self
    }

    fn write(self, attempt: &Attempt) {
        let command = &attempt.command;
        let (id, destination) = (command.command_id.as_str(), command.destination.as_str());
        let (kind, bytes) = (command.kind.as_str(), command.body.len());
        let number = attempt.number;
        if self.body {
            let body = shown(&command.body);
            tracing::info!(
                destination,
                command = id,
                kind,
                attempt = number,
                bytes,
                body,
                "logged, not delivered"
            );
        } else {
            tracing::info!(
                destination,
                command = id,
                kind,
                attempt = number,
                bytes,
                "logged, not delivered"
            );
        }
    }
}

impl Transport for LogTransport {
    fn send<'a>(&'a self, attempt: &'a Attempt) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            if attempt.gate.begin().is_err() {
                return Outcome::not_sent("withdrawn before it began");
            }
            self.write(attempt);
            Outcome::Completed { result: ResultBody::default(), evidence: EVIDENCE.into() }
        })
    }

    /// A line in the log is no act, so nothing that was ever sent here was done.
    fn ask<'a>(&'a self, _question: &'a Question) -> BoxFuture<'a, Answer> {
        Box::pin(async { Answer::NotThere { believed: true, reason: "a log does nothing".into() } })
    }

    fn request_timeout(&self) -> Option<Span> {
        None
    }
}

/// Text as it is, other bytes as hex digits; cut at a bound.
fn shown(body: &[u8]) -> String {
    let cut = &body[..body.len().min(BODY_SHOWN_MAX)];
    let mut text = match std::str::from_utf8(cut) {
        Ok(text) => text.to_owned(),
        // The bound may have cut a character.
        Err(why) if why.error_len().is_none() && cut.len() < body.len() => {
            String::from_utf8_lossy(&cut[..why.valid_up_to()]).into_owned()
        }
        Err(_) => cut.iter().fold(String::from("0x"), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        }),
    };
    if cut.len() < body.len() {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use counterfoil_core::domain::{Command, CommandId, Completion, Contract, Destination};
    use counterfoil_core::domain::{Idempotent, Terms};
    use counterfoil_core::port::{Quiet, Store as _};
    use counterfoil_testkit::{ManualClock, MemoryStore};

    use super::*;
    use crate::{Options, Relay, Served};

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Delivers one command over this transport; the lines of the log, and the store.
    fn deliver(transport: LogTransport, completion: Completion) -> (String, MemoryStore) {
        let log = Log::default();
        let writer = log.clone();
        let subscriber =
            tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        let store = MemoryStore::new(ManualClock::default());
        let mut contract = Contract::new(Idempotent::No);
        contract.completion = completion;
        let name = Destination::new("shipping").unwrap();
        let served = Served::new(name, Terms::new(contract), Arc::new(transport));
        let relay =
            Relay::new(store.clone(), vec![served], Options::default().until_idle(true), Quiet);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tracing::subscriber::with_default(subscriber, || {
            runtime.block_on(async {
                let command = Command::json("order:1", "shipping", "order", &"secret").unwrap();
                store.enqueue(vec![command]).await.unwrap();
                relay.run(std::future::pending()).await.unwrap();
            });
        });
        let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        (text, store)
    }

    fn receipt(store: &MemoryStore) -> (String, Option<String>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let story = runtime.block_on(store.show("order:1")).unwrap().unwrap();
        let receipt = story.receipts.into_iter().next().expect("a receipt");
        (receipt.outcome, receipt.evidence)
    }

    #[test]
    fn a_command_is_one_line_without_its_body_and_completes_whatever_completes_it() {
        for completion in [Completion::Response, Completion::Receipt, Completion::Accepted] {
            let (log, store) = deliver(LogTransport::new(), completion);
            assert_eq!(log.lines().count(), 1, "{log}");
            let fields = ["INFO", "shipping", "order:1", "kind=\"order\"", "attempt=1", "bytes=8"];
            for field in fields {
                assert!(log.contains(field), "no {field} in {log}");
            }
            assert!(!log.contains("secret"), "{log}");
            assert_eq!(receipt(&store), ("completed".to_owned(), Some(EVIDENCE.to_owned())));
        }
    }

    #[test]
    fn a_body_is_shown_where_that_is_asked_for() {
        let (log, _) = deliver(LogTransport::new().body(true), Completion::Response);
        assert!(log.contains("secret"), "{log}");
    }

    #[test]
    fn what_is_asked_was_never_done() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (_, store) = deliver(LogTransport::new(), Completion::Response);
        let served = Arc::new(LogTransport::new());
        let answer = runtime.block_on(async {
            let question = question(&store);
            served.ask(&question).await
        });
        assert!(matches!(answer, Answer::NotThere { believed: true, .. }), "{answer:?}");
    }

    fn question(store: &MemoryStore) -> Question {
        let command_id = CommandId::new("order:1").unwrap();
        Question { command_id, source: store.source(), now: store.now().unwrap(), trace: None }
    }

    #[test]
    fn a_body_is_shown_as_text_or_as_hex_and_cut() {
        assert_eq!(shown(br#"{"a":"x"}"#), r#"{"a":"x"}"#);
        assert_eq!(shown(&[0xff, 0x01]), "0xff01");
        let long = "ä".repeat(BODY_SHOWN_MAX);
        let text = shown(&long.as_bytes()[..long.len() - 1]);
        assert_eq!(text.chars().count(), BODY_SHOWN_MAX / 2 + 1);
        assert!(text.ends_with("ä…"));
        // An odd byte first, so that the bound falls into a character.
        let odd = format!("x{long}");
        let text = shown(odd.as_bytes());
        assert!(text.starts_with("xä") && text.ends_with("ä…"), "{}", text.len());
    }
}
