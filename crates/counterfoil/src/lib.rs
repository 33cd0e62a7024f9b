#![doc = include_str!("../../../docs/front_page.md")]

pub use counterfoil_core::audit;
pub use counterfoil_core::domain::{self, *};
pub use counterfoil_core::port::store::{Append, Appended, Recorded, StoreError, WriteRefused};
pub use counterfoil_core::port::{
    self, Attempt, Clock, Notice, Observer, Quiet, Store, SystemClock, Transport,
};

/// The receiver's side: repeats of a key fold into one effect.
pub mod inbox {
    pub use counterfoil_inbox::*;
}

/// Who claims, sends and settles.
pub mod relay {
    pub use counterfoil_relay::transport::handler::{Accepted, HandlerError, Json, handler};
    pub use counterfoil_relay::transport::log::LogTransport;
    pub use counterfoil_relay::*;
}

/// The embedded store, and enqueue in the user's own `rusqlite` transaction.
pub mod sqlite {
    pub use counterfoil_sqlite::*;
}

/// The store that many relays on many machines share, and enqueue in the user's own transaction of
/// `tokio-postgres` or, with the feature `sqlx`, of `sqlx`.
#[cfg(feature = "postgres")]
pub mod postgres {
    pub use counterfoil_postgres::*;
}

#[doc = include_str!("../../../docs/workflows.md")]
///
/// Processes of several steps: a [`Workflow`](workflow::Workflow) decides what follows from each
/// input, a [`Runner`](workflow::Runner) commits it, [`verify`](workflow::verify) decides
/// histories again.
pub mod workflow {
    pub use counterfoil_core::domain::workflow::{End, InputKind, Program, Status};
    pub use counterfoil_core::domain::{ArchivedBody, EventRow};
    pub use counterfoil_core::port::bodies::ReadBodies;
    pub use counterfoil_core::port::workflow::{
        Dropped, EndedByHand, InputRefused, ListedWorkflow, NewInput, WaitingInput, WorkflowFilter,
        Workflows,
    };
    pub use counterfoil_workflow::decision::{Due, Timer};
    pub use counterfoil_workflow::{
        Broken, Decision, Input, Programs, ProgramsRefused, Receipt, Runner, RunnerEnd,
        RunnerError, Running, Saga, Step, Unnamed, What, Workflow, limits, runner, saga, verify,
    };
}

#[cfg(feature = "testing")]
pub mod testing;
