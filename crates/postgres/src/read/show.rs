use counterfoil_core::domain::*;
use counterfoil_core::port::store::*;
use crate::failure::Failure;
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;
use counterfoil_core::port::read::*;
pub(crate) async fn show(_: &Tx<'_>, _: &str) -> Result<Option<Story>, Failure> { Err(Failure::broken("stub")) }
