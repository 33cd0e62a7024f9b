use counterfoil_core::domain::*;
use counterfoil_core::port::store::*;
use crate::failure::Failure;
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;
pub(crate) struct Pause<'a> { pub(crate) store: &'a Inner, pub(crate) destination: Destination, pub(crate) actor: String, pub(crate) reason: String }
impl Work for Pause<'_> {
    type Answer = bool;
    async fn run(&self, tx: &Tx<'_>) -> Result<Self::Answer, Failure> { let _ = tx; Err(Failure::broken("stub")) }
}
pub(crate) struct Resume<'a> { pub(crate) store: &'a Inner, pub(crate) destination: Destination, pub(crate) actor: String }
impl Work for Resume<'_> {
    type Answer = bool;
    async fn run(&self, tx: &Tx<'_>) -> Result<Self::Answer, Failure> { let _ = tx; Err(Failure::broken("stub")) }
}

