use counterfoil_core::domain::*;
use counterfoil_core::port::store::*;
use crate::failure::Failure;
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;

pub(crate) struct Decision<'a> { store: &'a Inner, append: Append }
impl<'a> Decision<'a> { pub(crate) fn new(store: &'a Inner, append: Append) -> Result<Self, WriteRefused> { Ok(Self { store, append }) } }
impl Work for Decision<'_> { type Answer = Result<Appended, WriteRefused>;
    async fn run(&self, tx: &Tx<'_>) -> Result<Self::Answer, Failure> { let _ = tx; Err(Failure::broken("stub")) } }

