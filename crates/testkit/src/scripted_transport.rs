//! A transport that does what a test wrote down, and remembers every attempt.
//!
//! Guarantees: it obeys the port unless the script says otherwise; time is tokio's, so paused
//! time works. Does not: open a socket.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use counterfoil_core::domain::{Answer, Micros, Outcome, ResultBody, Span, Token};
use counterfoil_core::port::{Attempt, BoxFuture, Question, Transport};
use tokio::time::Instant;

use crate::receiver::Receiver;

#[derive(Clone, Debug)]
enum End {
    /// The receiver's own answer.
    Receiver,
    Answer(Outcome),
    /// Ends as unknown at the request time-out; never where there is none.
    Hang,
    /// Never ends, against the port's rule.
    Stuck,
    Panic,
}

/// What one attempt does.
#[derive(Clone, Debug)]
pub struct Script {
    before_gate: Duration,
    passes_gate: bool,
    acts: bool,
    after: Duration,
    end: End,
}

impl Script {
    const fn new(acts: bool, end: End) -> Self {
        let none = Duration::ZERO;
        Self { before_gate: none, passes_gate: true, acts, after: none, end }
    }

    /// The receiver acts, and its answer arrives. The default.
    #[must_use]
    pub const fn receive() -> Self {
        Self::new(true, End::Receiver)
    }

    /// Nothing acts; this outcome is what the transport learns.
    #[must_use]
    pub const fn answer(outcome: Outcome) -> Self {
        Self::new(false, End::Answer(outcome))
    }

    /// The receiver acts, but its answer is lost: the outcome is unknown.
    #[must_use]
    pub fn lose_answer() -> Self {
        Self::new(true, End::Answer(Outcome::unknown("the answer was lost")))
    }

    /// Nothing acts, and no answer comes: unknown at the request time-out.
    #[must_use]
    pub const fn hang() -> Self {
        Self::new(false, End::Hang)
    }

    /// Never ends, request time-out or not.
    #[must_use]
    pub const fn stuck() -> Self {
        Self::new(false, End::Stuck)
    }

    /// Panics.
    #[must_use]
    pub const fn panic() -> Self {
        Self::new(false, End::Panic)
    }

    /// The receiver acts, whatever the transport learns.
    #[must_use]
    pub const fn acting(mut self) -> Self {
        self.acts = true;
        self
    }

    /// Waits before it passes the gate.
    #[must_use]
    pub const fn before_gate(mut self, wait: Duration) -> Self {
        self.before_gate = wait;
        self
    }

    /// Waits between the receiver's act and its answer.
    #[must_use]
    pub const fn after(mut self, wait: Duration) -> Self {
        self.after = wait;
        self
    }

    /// Ends without passing the gate, as when no connection can be made; nothing acts.
    #[must_use]
    pub const fn without_gate(mut self) -> Self {
        self.passes_gate = false;
        self
    }
}

/// An attempt as it reached the transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The command's id.
    pub id: String,
    /// Which attempt of its round; 0 for a question.
    pub number: u32,
    /// Its token; none for a question.
    pub token: Token,
    /// The bytes; none for a question.
    pub body: Vec<u8>,
    /// The store's time when the attempt began.
    pub now: Micros,
    /// Tokio's time since the transport was made.
    pub at: Duration,
    /// It passed its gate.
    pub passed: bool,
    /// It was a question.
    pub asked: bool,
}

#[derive(Debug, Default)]
struct Book {
    scripts: BTreeMap<String, VecDeque<Script>>,
    answers: BTreeMap<String, VecDeque<Answer>>,
    sent: Vec<Sent>,
}

/// A transport with a script, in front of a [`Receiver`].
#[derive(Debug)]
pub struct ScriptedTransport {
    receiver: Arc<Receiver>,
    default: Script,
    request_timeout: Option<Span>,
    began: Instant,
    book: Mutex<Book>,
}

impl ScriptedTransport {
    /// A transport to `receiver`, with a request time-out of 10 s.
    #[must_use]
    pub fn new(receiver: Arc<Receiver>) -> Self {
        Self {
            receiver,
            default: Script::receive(),
            request_timeout: Some(Span::from_secs(10)),
            began: Instant::now(),
            book: Mutex::default(),
        }
    }

    /// What an attempt does that has no script of its own.
    #[must_use]
    pub fn by_default(mut self, script: Script) -> Self {
        self.default = script;
        self
    }

    /// Sets the request time-out; `None` as for a handler in this process.
    #[must_use]
    pub const fn request_timeout(mut self, timeout: Option<Span>) -> Self {
        self.request_timeout = timeout;
        self
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the next attempt at this command does; further calls queue up.
    pub fn script(&self, command_id: &str, script: Script) {
        self.book().scripts.entry(command_id.to_owned()).or_default().push_back(script);
    }

    /// What the next question about this command learns; without one the receiver's book answers.
    pub fn script_answer(&self, command_id: &str, answer: Answer) {
        self.book().answers.entry(command_id.to_owned()).or_default().push_back(answer);
    }

    /// All attempts and questions so far, oldest first.
    #[must_use]
    pub fn sent(&self) -> Vec<Sent> {
        self.book().sent.clone()
    }

    /// How many attempts at this command passed the gate.
    #[must_use]
    pub fn sends(&self, command_id: &str) -> usize {
        let own = |sent: &&Sent| sent.id == command_id && sent.passed && !sent.asked;
        self.book().sent.iter().filter(own).count()
    }

    /// The receiver behind it.
    #[must_use]
    pub fn receiver(&self) -> &Arc<Receiver> {
        &self.receiver
    }

    /// Notes the attempt; where in the book it stands.
    fn note(&self, attempt: &Attempt) -> usize {
        let sent = Sent {
            id: attempt.command.command_id.to_string(),
            number: attempt.number,
            token: attempt.token,
            body: attempt.command.body.clone(),
            now: attempt.now,
            at: self.began.elapsed(),
            passed: false,
            asked: false,
        };
        self.keep(sent)
    }

    fn keep(&self, sent: Sent) -> usize {
        let mut book = self.book();
        book.sent.push(sent);
        book.sent.len() - 1
    }

    async fn play(&self, attempt: &Attempt) -> Outcome {
        let place = self.note(attempt);
        let id = attempt.command.command_id.as_str();
        let own = self.book().scripts.get_mut(id).and_then(VecDeque::pop_front);
        let script = own.unwrap_or_else(|| self.default.clone());
        pause(script.before_gate).await;
        if script.passes_gate {
            if attempt.gate.begin().is_err() {
                return Outcome::not_sent("withdrawn before the first byte");
            }
            self.book().sent[place].passed = true;
        }
        let acts = script.acts && script.passes_gate;
        let received = acts.then(|| self.receiver.receive(id, &attempt.command.body));
        pause(script.after).await;
        match script.end {
            End::Receiver => received.unwrap_or_else(|| Outcome::not_sent("no connection")),
            End::Answer(outcome) => outcome,
            End::Hang => match self.request_timeout {
                Some(timeout) => {
                    let left = timeout.to_std().saturating_sub(script.before_gate + script.after);
                    pause(left).await;
                    Outcome::unknown("no answer within the request time-out")
                }
                None => std::future::pending().await,
            },
            End::Stuck => std::future::pending().await,
            End::Panic => {
                assert!(attempt.number == 0, "the script says panic");
                Outcome::unknown("the script says panic")
            }
        }
    }

    fn answer(&self, question: &Question) -> Answer {
        let id = question.command_id.as_str();
        self.keep(Sent {
            id: id.to_owned(),
            number: 0,
            token: Token::NONE,
            body: Vec::new(),
            now: question.now,
            at: self.began.elapsed(),
            passed: true,
            asked: true,
        });
        if let Some(answer) = self.book().answers.get_mut(id).and_then(VecDeque::pop_front) {
            return answer;
        }
        if self.receiver.effects(id) > 0 {
            let result = ResultBody::whole(format!("done {id}"));
            Answer::Done { result, evidence: "the receiver has the key".into() }
        } else {
            Answer::NotThere { believed: true, reason: "the receiver has no such key".into() }
        }
    }
}

async fn pause(wait: Duration) {
    if !wait.is_zero() {
        tokio::time::sleep(wait).await;
    }
}

impl Transport for ScriptedTransport {
    fn send<'a>(&'a self, attempt: &'a Attempt) -> BoxFuture<'a, Outcome> {
        Box::pin(self.play(attempt))
    }

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        Box::pin(async { self.answer(question) })
    }

    fn request_timeout(&self) -> Option<Span> {
        self.request_timeout
    }
}
