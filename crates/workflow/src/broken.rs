//! Why a workflow cannot go on.
//!
//! Guarantees: each says what happened, the rule and the way out, for the person who finds the
//! workflow quarantined. Does not: concern any other workflow.

/// Why a workflow cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Broken {
    /// A function of the program panicked.
    #[error("panic in {function}: {message}; mend the program, then retry the workflow")]
    Panic {
        /// `decide`, `evolve`, or what saved or read its values.
        function: &'static str,
        /// What it said.
        message: String,
    },
    /// A decision breaks a rule.
    #[error("rule: {0}; mend the program, then retry the workflow")]
    Rule(String),
    /// A generated command id stands already.
    #[error(
        "id_taken: command {id} stands already and is not of this decision; `counterfoil show \
         {id}` says whose it is, and a retry alone meets it again. Drop this input and those \
         behind it, send an input that issues nothing and then all of them anew, and retry: that \
         moves the ids on. Or end the workflow, if it never began drop its start, and start it \
         under another id"
    )]
    IdTaken {
        /// The command.
        id: String,
    },
    /// The history is none of this program.
    #[error("history: {0}; run the program that wrote it, or another version beside it")]
    History(String),
    /// The history is needed, and the body of an event is archived.
    #[error(
        "archived: the body of event {seq} is in the file {file}; bring all of them back with \
         `counterfoil workflow recall {workflow} --archive DIR`, then retry the workflow"
    )]
    Archived {
        /// The workflow.
        workflow: String,
        /// The event.
        seq: i64,
        /// The name of the file.
        file: String,
    },
    /// The store refuses what was decided.
    #[error("refused by the store: {0}")]
    Refused(String),
    /// The program does not answer.
    #[error(
        "decide has not answered within {seconds} s; mend the program and start the runner anew, \
         then retry the workflow"
    )]
    Endless {
        /// How long it was waited for.
        seconds: u64,
    },
}
