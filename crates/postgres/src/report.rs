use counterfoil_core::domain::*;
use counterfoil_core::port::store::*;
use crate::failure::Failure;
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;
pub(crate) struct Reporting<'a> { pub(crate) store: &'a Inner, pub(crate) command_id: CommandId, pub(crate) report: transition::Report }
impl Work for Reporting<'_> {
    type Answer = Reported;
    async fn run(&self, tx: &Tx<'_>) -> Result<Self::Answer, Failure> { let _ = tx; Err(Failure::broken("stub")) }
}

