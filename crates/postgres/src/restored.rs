use counterfoil_core::domain::*;
use counterfoil_core::port::store::*;
use crate::failure::Failure;
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;
pub(crate) struct Restored<'a> { pub(crate) store: &'a Inner, pub(crate) at: Micros, pub(crate) actor: String }
impl Work for Restored<'_> {
    type Answer = u64;
    async fn run(&self, tx: &Tx<'_>) -> Result<Self::Answer, Failure> { let _ = tx; Err(Failure::broken("stub")) }
}

