//! States that are kept in memory between inputs.
//!
//! Guarantees: at most so many as was asked for; what was used longest ago goes first, half of all
//! at once, so that each entry costs a constant share.

use std::collections::HashMap;

use counterfoil_core::domain::Stream;

use crate::instance::Instance;

/// States in memory.
pub(super) struct Cache {
    all: HashMap<Stream, (u64, Instance)>,
    max: usize,
    uses: u64,
}

impl Cache {
    pub(super) fn new(max: usize) -> Self {
        Self { all: HashMap::new(), max, uses: 0 }
    }

    /// Takes a workflow out.
    pub(super) fn take(&mut self, stream: &Stream) -> Option<Instance> {
        self.all.remove(stream).map(|(_, instance)| instance)
    }

    /// Whatever is in it.
    pub(super) fn streams(&self) -> Vec<Stream> {
        self.all.keys().cloned().collect()
    }

    pub(super) fn put(&mut self, instance: Instance) {
        if self.max == 0 {
            return;
        }
        if self.all.len() >= self.max {
            let mut uses: Vec<_> = self.all.values().map(|(use_of, _)| *use_of).collect();
            let middle = uses.len() / 2;
            let (_, middle, _) = uses.select_nth_unstable(middle);
            let middle = *middle;
            self.all.retain(|_, (use_of, _)| *use_of > middle);
        }
        self.uses += 1;
        self.all.insert(instance.stream.clone(), (self.uses, instance));
    }
}
