use counterfoil_core::domain::*;
use counterfoil_core::port::store::*;
use crate::failure::Failure;
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;
pub(crate) async fn newest_completed(_: &Tx<'_>, _: &Destination, _: &CommandId) -> Result<Option<CommandId>, Failure> { Err(Failure::broken("stub")) }
