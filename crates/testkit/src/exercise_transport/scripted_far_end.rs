//! The scripted transport as a far end, for the suite's own test.
//!
//! Guarantees: what arrives is what passed its gate. Does not: open a socket.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use counterfoil_core::domain::{Outcome, ResultBody, Span};
use counterfoil_core::port::{Attempt, BoxFuture, Transport};

use super::{Arrival, FarEnd, Reply};
use crate::{Receiver, Script, ScriptedTransport};

/// A scripted transport with a request time-out of 100 ms.
#[derive(Clone)]
pub struct ScriptedFarEnd(Arc<Inner>);

struct Inner {
    transport: ScriptedTransport,
    reply: Mutex<Reply>,
    gone: AtomicBool,
}

impl Default for ScriptedFarEnd {
    fn default() -> Self {
        let transport = ScriptedTransport::new(Arc::new(Receiver::without_keys()))
            .request_timeout(Some(Span::from_millis(100)));
        let reply = Mutex::new(Reply::Done(Vec::new()));
        Self(Arc::new(Inner { transport, reply, gone: AtomicBool::new(false) }))
    }
}

impl Inner {
    fn script(&self) -> Script {
        if self.gone.load(Ordering::Acquire) {
            return Script::answer(Outcome::not_sent("connection refused")).without_gate();
        }
        let reply = self.reply.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match reply {
            Reply::Done(result) => {
                let result = ResultBody::whole(result);
                Script::answer(Outcome::Completed { result, evidence: "scripted".into() }).acting()
            }
            Reply::Fail => Script::lose_answer(),
            Reply::Hang => Script::hang(),
        }
    }
}

impl Transport for Inner {
    fn send<'a>(&'a self, attempt: &'a Attempt) -> BoxFuture<'a, Outcome> {
        self.transport.script(attempt.command.command_id.as_str(), self.script());
        self.transport.send(attempt)
    }

    fn request_timeout(&self) -> Option<Span> {
        Transport::request_timeout(&self.transport)
    }
}

impl FarEnd for ScriptedFarEnd {
    fn transport(&self) -> Arc<dyn Transport> {
        Arc::<Inner>::clone(&self.0)
    }

    fn reply(&self, reply: Reply) {
        *self.0.reply.lock().unwrap_or_else(PoisonError::into_inner) = reply;
    }

    fn arrivals(&self) -> Vec<Arrival> {
        let sent = self.0.transport.sent().into_iter().filter(|sent| sent.passed);
        sent.map(|sent| Arrival { command_id: sent.id, body: sent.body }).collect()
    }

    fn vanish(&self) -> BoxFuture<'_, bool> {
        self.0.gone.store(true, Ordering::Release);
        Box::pin(async { true })
    }
}
