use counterfoil_core::domain::*;
use counterfoil_core::port::store::*;
use crate::failure::Failure;
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;
use std::collections::BTreeMap;
#[derive(Default)] pub(crate) struct Agreed;
pub(crate) struct Declare;
impl Declare { pub(crate) fn new(_: &Destination, _: &Contract, _: bool) -> Result<Self, StoreError> { Ok(Self) } }
impl Work for Declare { type Answer = Declared;
    async fn run(&self, tx: &Tx<'_>) -> Result<Self::Answer, Failure> { let _ = tx; Err(Failure::broken("stub")) } }
pub(crate) async fn contracts(_: &Tx<'_>) -> Result<BTreeMap<String, Option<Contract>>, Failure> { Err(Failure::broken("stub")) }

