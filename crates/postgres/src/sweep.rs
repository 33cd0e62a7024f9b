use counterfoil_core::domain::*;
use counterfoil_core::port::store::*;
use crate::failure::Failure;
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;
pub(crate) struct Sweep<'a> { pub(crate) store: &'a Inner, pub(crate) limit: usize, pub(crate) announce: Option<counterfoil_core::port::Announce> }
impl Work for Sweep<'_> {
    type Answer = Swept;
    async fn run(&self, tx: &Tx<'_>) -> Result<Self::Answer, Failure> { let _ = tx; Err(Failure::broken("stub")) }
}

