//! The programs that a runner, a verification or a test has.
//!
//! Guarantees: one program of a name and version. Does not: choose for workflows that have begun;
//! they stay with the version that decided their start.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use counterfoil_core::domain::workflow::{Program, ProgramRefused};

use crate::live::AnyProgram;
use crate::workflow::Workflow;

/// The programs that somebody has, by name and version.
#[derive(Clone, Default)]
pub struct Programs {
    all: BTreeMap<Program, Arc<dyn AnyProgram>>,
}

impl Programs {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// And this one.
    ///
    /// # Errors
    /// Its name breaks the rule, or the same name and version is there already.
    pub fn add<W: Workflow>(&mut self, workflow: W) -> Result<(), ProgramsRefused> {
        let program = Program::new(workflow.name(), workflow.version())?;
        if self.all.contains_key(&program) {
            return Err(ProgramsRefused::Twice(program.to_string()));
        }
        self.all.insert(program, Arc::new(workflow));
        Ok(())
    }

    /// And this one, which somebody else has too.
    pub(crate) fn add_shared(&mut self, program: Program, code: Arc<dyn AnyProgram>) {
        self.all.insert(program, code);
    }

    /// The same with this one, for chains.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn with<W: Workflow>(mut self, workflow: W) -> Result<Self, ProgramsRefused> {
        self.add(workflow)?;
        Ok(self)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Program> {
        self.all.keys()
    }

    /// The highest version of this name: what a new workflow is decided by.
    #[must_use]
    pub fn newest(&self, name: &str) -> Option<&Program> {
        self.all.keys().rev().find(|program| program.name() == name)
    }

    pub(crate) fn get(&self, program: &Program) -> Option<Arc<dyn AnyProgram>> {
        self.all.get(program).cloned()
    }
}

impl fmt::Debug for Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.all.keys().map(ToString::to_string)).finish()
    }
}

/// Why a program was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramsRefused {
    /// Its name breaks the rule.
    #[error(transparent)]
    Name(#[from] ProgramRefused),
    /// It is there already.
    #[error("workflow {0} is given twice; a changed program needs another version")]
    Twice(String),
}
