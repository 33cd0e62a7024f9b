use counterfoil_core::domain::*;
use counterfoil_core::port::store::*;
use crate::failure::Failure;
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;
use counterfoil_core::port::read::{Facts,FactsFrom};
pub(crate) async fn facts(_: &Tx<'_>, _: FactsFrom, _: usize) -> Result<Facts, Failure> { Err(Failure::broken("stub")) }
