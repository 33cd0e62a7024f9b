use counterfoil_core::domain::*;
use counterfoil_core::port::store::*;
use crate::failure::Failure;
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;
use counterfoil_core::port::{Acted,Actor,Deed};
pub(crate) struct Acting<'a> { pub(crate) store: &'a Inner, deeds: Vec<Deed>, actor: Actor }
impl Work for Acting<'_> {
    type Answer = Vec<Acted>;
    async fn run(&self, tx: &Tx<'_>) -> Result<Self::Answer, Failure> { let _ = tx; Err(Failure::broken("stub")) }
}
impl<'a> Acting<'a> { pub(crate) fn new(store: &'a Inner, deeds: Vec<Deed>, actor: Actor) -> Result<Self, StoreError> { Ok(Self{store,deeds,actor}) } }
