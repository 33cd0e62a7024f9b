use counterfoil_core::domain::*;
use counterfoil_core::port::store::*;
use crate::failure::Failure;
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;
use counterfoil_core::port::read::*;
use counterfoil_core::domain::laws::*;
pub(crate) async fn status(_: &Tx<'_>) -> Result<Status, Failure> { Err(Failure::broken("stub")) }
pub(crate) async fn totals(_: &Tx<'_>) -> Result<Vec<Totals>, Failure> { Err(Failure::broken("stub")) }
