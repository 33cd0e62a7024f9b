//! What a runner is made of.

use std::sync::Arc;

use counterfoil_core::port::Workflows;

use super::{Observer, Options, Runner, RunnerError, TracingObserver};
use crate::programs::{Programs, ProgramsRefused};
use crate::workflow::Workflow;

/// A runner to be.
#[must_use = "nothing runs until `build` and `run`"]
pub struct Builder<S> {
    store: S,
    programs: Programs,
    refused: Option<ProgramsRefused>,
    options: Options,
    observer: Arc<dyn Observer>,
}

impl<S: Workflows> Builder<S> {
    pub(super) fn new(store: S) -> Self {
        Self {
            store,
            programs: Programs::new(),
            refused: None,
            options: Options::default(),
            observer: Arc::new(TracingObserver),
        }
    }

    /// And this program. Give old versions as long as workflows of theirs run: the highest version
    /// of a name decides new starts, and a workflow stays with the version that decided its own.
    pub fn workflow<W: Workflow>(mut self, workflow: W) -> Self {
        self.refused = self.refused.or(self.programs.add(workflow).err());
        self
    }

    /// These programs in place of those given so far, and of what was refused of them.
    pub fn programs(mut self, programs: Programs) -> Self {
        (self.programs, self.refused) = (programs, None);
        self
    }

    /// How it runs. Default: [`Options::default`].
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Who hears what it does. Default: [`TracingObserver`].
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.observer = Arc::new(observer);
        self
    }

    /// The runner.
    ///
    /// # Errors
    /// [`RunnerError`]: no program, one twice, a name or an option that breaks its rule.
    pub fn build(self) -> Result<Runner<S>, RunnerError> {
        let Self { store, programs, refused, options, observer } = self;
        if let Some(why) = refused {
            return Err(RunnerError::Programs(why));
        }
        if programs.iter().next().is_none() {
            return Err(RunnerError::NoWorkflow);
        }
        options.check()?;
        Ok(Runner { store, programs: Arc::new(programs), options, observer })
    }
}
