use counterfoil_core::domain::*;
use counterfoil_core::port::store::*;
use crate::failure::Failure;
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;
use counterfoil_core::domain::Command;
pub(crate) struct Enqueue<'a> { store: &'a Inner, commands: Vec<Command> }
impl<'a> Enqueue<'a> { pub(crate) fn new(store: &'a Inner, commands: Vec<Command>) -> Self { Self { store, commands } } }
impl Work for Enqueue<'_> { type Answer = Vec<Result<Recorded, WriteRefused>>;
    async fn run(&self, tx: &Tx<'_>) -> Result<Self::Answer, Failure> { let _ = tx; Err(Failure::broken("stub")) } }

