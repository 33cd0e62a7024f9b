//! A far end that answers questions as a plain web address does.
//!
//! Guarantees: what it is asked is noted, and it never acts on a question. Does not: say "not
//! there" in so many words; a bare 404 is all it has.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use counterfoil_core::domain::{Answer, Outcome, ResultBody, Span};
use counterfoil_core::port::{Attempt, BoxFuture, Question, Transport};
use counterfoil_testkit::ScriptedTransport;

/// How it answers.
#[derive(Default)]
struct Ways {
    /// Nothing is there at this address, whatever is asked.
    misrouted: bool,
    /// The question about this command, or about any (`*`), takes that long.
    slow: Option<(&'static str, Duration)>,
    panics: bool,
    asked: Vec<String>,
}

/// A transport that sends as scripted and asks a plain web address.
pub(crate) struct Answering {
    inner: Arc<ScriptedTransport>,
    ways: Mutex<Ways>,
}

impl Answering {
    pub(crate) fn new(inner: &Arc<ScriptedTransport>) -> Arc<Self> {
        Arc::new(Self { inner: Arc::clone(inner), ways: Mutex::default() })
    }

    /// Whether questions go to a wrong address.
    pub(crate) fn misrouted(&self, is: bool) {
        self.ways.lock().unwrap().misrouted = is;
    }

    /// Questions about `id`, or about any (`*`), take that long.
    pub(crate) fn slow(&self, id: &'static str, wait: Duration) {
        self.ways.lock().unwrap().slow = Some((id, wait));
    }

    /// Questions panic.
    pub(crate) fn panicking(&self) {
        self.ways.lock().unwrap().panics = true;
    }

    /// What was asked about, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.ways.lock().unwrap().asked.clone()
    }

    /// How often was asked about `id`.
    pub(crate) fn asks(&self, id: &str) -> usize {
        self.asked().iter().filter(|asked| *asked == id).count()
    }

    async fn answer(&self, question: &Question) -> Answer {
        let id = question.command_id.as_str();
        let (misrouted, wait, panics) = {
            let mut ways = self.ways.lock().unwrap();
            ways.asked.push(id.to_owned());
            let slow = ways.slow.filter(|(which, _)| ["*", id].contains(which));
            (ways.misrouted, slow.map(|(_, wait)| wait), ways.panics)
        };
        assert!(!panics, "asked too much");
        tokio::time::sleep(wait.unwrap_or_default()).await;
        if misrouted || self.inner.receiver().effects(id) == 0 {
            Answer::NotThere { believed: false, reason: "HTTP 404".into() }
        } else {
            Answer::Done { result: ResultBody::whole("job 7"), evidence: "HTTP 200".into() }
        }
    }
}

impl Transport for Answering {
    fn send<'a>(&'a self, attempt: &'a Attempt) -> BoxFuture<'a, Outcome> {
        self.inner.send(attempt)
    }

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        Box::pin(self.answer(question))
    }

    fn request_timeout(&self) -> Option<Span> {
        Transport::request_timeout(&*self.inner)
    }
}
