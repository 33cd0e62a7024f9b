//! Hears what a relay tells the world.
//!
//! Guarantees: what a process said before it died was said. Does not: block.

use std::sync::Arc;

use counterfoil_core::port::{Notice, Observer};

use super::request::Mailbox;

/// The observer of one process.
#[derive(Clone, Debug)]
pub struct SimObserver(pub(super) Arc<Mailbox>);

impl Observer for SimObserver {
    fn notice(&self, notice: &Notice) {
        self.0.say(notice);
    }
}
