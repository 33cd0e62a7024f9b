//! The control question: whether a bare "not there" may be believed.
//!
//! Guarantees: it is believed only once the same way of asking has answered "done" about a command
//! that the receiver is known to have completed; a wrong address says "not there" to that one too.
//! Does not: act, or take more time than the question that it belongs to.

use counterfoil_core::domain::{Answer, CommandId, Destination};
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::{BoxFuture, Question, Store, Transport};
use tokio::time::Instant;

/// Knows what a destination completed; every store does.
pub(crate) trait Newest: Send + Sync {
    /// The newest command that `destination` completed, other than `except`.
    fn newest<'a>(
        &'a self,
        destination: &'a Destination,
        except: &'a CommandId,
    ) -> BoxFuture<'a, Result<Option<CommandId>, StoreError>>;
}

impl<S: Store> Newest for S {
    fn newest<'a>(
        &'a self,
        destination: &'a Destination,
        except: &'a CommandId,
    ) -> BoxFuture<'a, Result<Option<CommandId>, StoreError>> {
        Box::pin(self.newest_completed(destination, except))
    }
}

/// Who asks, whom, and until when.
pub(crate) struct Asker<'a> {
    pub(crate) transport: &'a dyn Transport,
    pub(crate) newest: &'a dyn Newest,
    pub(crate) until: Instant,
}

impl Asker<'_> {
    /// The same answer; a "not there" that its contract does not say in so many words is believed
    /// now if the control question allows it, and says what was asked.
    pub(crate) async fn checked(
        &self,
        answer: Answer,
        destination: &Destination,
        question: &Question,
    ) -> Answer {
        let Answer::NotThere { believed: false, reason } = answer else { return answer };
        let control = tokio::time::timeout_at(self.until, self.control(destination, question));
        let (believed, why) = control.await.unwrap_or_else(|_| {
            (false, "no answer to the control question within the request timeout".into())
        });
        Answer::NotThere { believed, reason: format!("{why}; asked about this one: {reason}") }
    }

    /// Whether the control question was answered as it should, in words.
    async fn control(&self, destination: &Destination, question: &Question) -> (bool, String) {
        let Question { command_id, source, now, trace } = question;
        let known = match self.newest.newest(destination, command_id).await {
            Ok(Some(known)) => known,
            Ok(None) => {
                let why = "not believed before the destination's first completion, which is what \
                           a control question asks about";
                return (false, why.into());
            }
            Err(error) => return (false, format!("no control question could be asked: {error}")),
        };
        let (source, now, trace) = (source.clone(), *now, *trace);
        let asked = Question { command_id: known.clone(), source, now, trace };
        match self.transport.ask(&asked).await {
            Answer::Done { .. } => (true, format!("control question about {known}: done")),
            answer => {
                let (name, reason) = (answer.name(), answer.reason());
                (false, format!("not believed: control question about {known}: {name}: {reason}"))
            }
        }
    }
}
