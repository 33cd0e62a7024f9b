//! What a runner tells, as data; the log is a mere subscriber.

use counterfoil_core::domain::workflow::Program;
use counterfoil_core::domain::{Micros, Span};
use counterfoil_core::port::Quiet;
use tracing::{debug, error, info, warn};

/// Something that happened. A table of them stands in `docs/observer.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A runner began.
    Started {
        /// Its name.
        owner: String,
        /// The programs that it has.
        programs: Vec<Program>,
    },
    /// A runner ended.
    Stopped {
        /// Its name.
        owner: String,
    },
    /// Steps were written in one transaction.
    Stepped {
        /// Of how many workflows.
        workflows: usize,
        /// How many inputs were decided in them.
        inputs: usize,
        /// How many of these workflows ended with it.
        ended: usize,
    },
    /// A workflow was set aside, and waits for a person.
    Quarantined {
        /// The workflow.
        workflow: String,
        /// Its program.
        program: String,
        /// On which input.
        input: String,
        /// Why.
        reason: String,
    },
    /// An input was taken away alone, since its stream is a service's own and no workflow.
    SetAside {
        /// The stream.
        workflow: String,
        /// The input.
        input: String,
        /// Why.
        reason: String,
    },
    /// A step was not written, and is decided anew.
    Refused {
        /// The workflow.
        workflow: String,
        /// Why.
        reason: String,
    },
    /// A snapshot does not read; the workflow is folded from all of its events.
    Unread {
        /// The workflow.
        workflow: String,
        /// Why.
        reason: String,
    },
    /// Inputs that waited for a workflow were looked after.
    Kept {
        /// How many got their workflow.
        adopted: usize,
        /// How many were taken away as too old.
        expired: usize,
    },
    /// The store could not be reached or refused; the runner tries again.
    StoreFailed {
        /// What it said.
        reason: String,
        /// When the runner tries again, from now.
        retry_in: Span,
    },
    /// Nothing is due before this time, as far as is known. Once, until something was decided.
    Idle {
        /// The next due time, if any.
        next: Option<Micros>,
    },
}

/// Hears notices. It must not block: a slow subscriber slows its runner.
pub trait Observer: Send + Sync + 'static {
    /// Takes a notice.
    fn notice(&self, notice: &Notice);
}

impl Observer for Quiet {
    fn notice(&self, _notice: &Notice) {}
}

impl<O: Observer + ?Sized> Observer for std::sync::Arc<O> {
    fn notice(&self, notice: &Notice) {
        (**self).notice(notice);
    }
}

/// Logs every notice with `tracing`; bodies are never among them.
#[derive(Clone, Copy, Debug, Default)]
pub struct TracingObserver;

impl Observer for TracingObserver {
    fn notice(&self, notice: &Notice) {
        match notice {
            Notice::Started { owner, programs } => {
                let programs: Vec<_> = programs.iter().map(ToString::to_string).collect();
                info!(owner, ?programs, "workflow runner started");
            }
            Notice::Stopped { owner } => info!(owner, "workflow runner stopped"),
            Notice::Stepped { workflows, inputs, ended } => {
                debug!(workflows, inputs, ended, "decided");
            }
            Notice::Quarantined { workflow, program, input, reason } => {
                warn!(workflow, program, input, reason, "quarantined, waits for a person");
            }
            Notice::SetAside { workflow, input, reason } => {
                warn!(workflow, input, reason, "input taken away from a service's own stream");
            }
            Notice::Refused { workflow, reason } => {
                debug!(workflow, reason, "not written, decided anew");
            }
            Notice::Unread { workflow, reason } => {
                warn!(workflow, reason, "snapshot not read, folded from all events");
            }
            Notice::Kept { adopted, expired } => info!(adopted, expired, "inputs looked after"),
            Notice::StoreFailed { reason, retry_in } => {
                error!(reason, retry_in = ?retry_in.to_std(), "store failed");
            }
            Notice::Idle { next } => debug!(next = next.map(Micros::get), "idle"),
        }
    }
}
