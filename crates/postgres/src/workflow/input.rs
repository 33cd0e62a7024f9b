//! Writes inputs: what strangers send through this library, and what receipts become.
//!
//! Guarantees: the rules of the SQL guard, kept in Rust, since the guard trusts us; the first
//! receipt of a workflow's command is one input, whatever writes it. Does not: lock or write the
//! row of a workflow.

use std::collections::{BTreeMap, BTreeSet};

use counterfoil_core::domain::Digest;
use counterfoil_core::port::store::Recorded;
use counterfoil_core::port::workflow::{InputRefused, NewInput};

use crate::failure::Failure;
use crate::row::{bytes, digest, flag, int, string, text};
use crate::statement::{Statement, statement};
use crate::tx::Tx;
use crate::work::Work;

const SEND: Statement = statement!("input_send");
const TWIN: Statement = statement!("input_twin");
const OF_RECEIPT: Statement = statement!("input_of_receipt");

/// Inputs, each by itself.
pub(crate) struct Send {
    inputs: Vec<NewInput>,
    checked: Vec<Result<(), InputRefused>>,
}

type Sent = Vec<Result<Recorded, InputRefused>>;
type Key<'a> = (&'a str, &'a str);

fn key(input: &NewInput) -> Key<'_> {
    (input.stream.as_str(), &input.id)
}

impl Send {
    /// Checks what can be checked without the store.
    pub(crate) fn new(inputs: Vec<NewInput>) -> Self {
        let checked = inputs.iter().map(NewInput::check).collect();
        Self { inputs, checked }
    }

    /// Of each id the first that may be written.
    fn first(&self) -> BTreeMap<Key<'_>, usize> {
        let mut first = BTreeMap::new();
        for (at, (input, checked)) in self.inputs.iter().zip(&self.checked).enumerate() {
            if checked.is_ok() {
                first.entry(key(input)).or_insert(at);
            }
        }
        first
    }

    async fn insert(
        &self,
        tx: &Tx<'_>,
        first: &BTreeMap<Key<'_>, usize>,
    ) -> Result<BTreeSet<(String, String)>, Failure> {
        let mut places: Vec<usize> = first.values().copied().collect();
        places.sort_unstable();
        let all = || places.iter().map(|&at| &self.inputs[at]);
        let streams: Vec<&str> = all().map(|input| input.stream.as_str()).collect();
        let ids: Vec<&str> = all().map(|input| input.id.as_str()).collect();
        let kinds: Vec<&str> = all().map(|input| input.kind.name()).collect();
        let names: Vec<&str> = all().map(|input| input.name.as_str()).collect();
        let bodies: Vec<Option<&[u8]>> = all().map(|input| input.body.as_deref()).collect();
        let rows = tx.query(SEND, &[&streams, &ids, &kinds, &names, &bodies]).await?;
        Ok(rows.iter().filter_map(|row| Some((string(row, 0)?, string(row, 1)?))).collect())
    }

    /// Whether what stands under the key of each of these is the same input.
    async fn compare(&self, tx: &Tx<'_>, others: &[usize]) -> Result<Vec<bool>, Failure> {
        let all = || others.iter().map(|&at| &self.inputs[at]);
        let streams: Vec<&str> = all().map(|input| input.stream.as_str()).collect();
        let ids: Vec<&str> = all().map(|input| input.id.as_str()).collect();
        let rows = tx.query(TWIN, &[&streams, &ids]).await?;
        let mut same = vec![None; others.len()];
        for row in &rows {
            let place = int(row, 0).and_then(|place| usize::try_from(place - 1).ok());
            let Some((place, input)) = place.and_then(|at| Some((at, all().nth(at)?))) else {
                continue;
            };
            let kind = input.kind.event_kind(&input.name);
            // Decided ones keep no difference between an empty body and none.
            let (stands, sent) = (bytes(row, 2), input.body.as_deref());
            let is_decided = flag(row, 3);
            let is_same_body = if flag(row, 4) {
                // Its body is archived, and its digest stands for it.
                digest(row, 5) == Some(Digest::of(sent.unwrap_or_default()))
            } else if is_decided {
                stands.unwrap_or_default() == sent.unwrap_or_default()
            } else {
                stands == sent
            };
            same[place] = Some(text(row, 1) == Some(&kind) && is_same_body);
        }
        same.into_iter()
            .map(|same| same.ok_or_else(|| Failure::Again("an input is gone".into())))
            .collect()
    }
}

impl Work for Send {
    type Answer = Sent;

    async fn run(&self, tx: &Tx<'_>) -> Result<Sent, Failure> {
        let first = self.first();
        if first.is_empty() {
            return Ok(self
                .checked
                .iter()
                .cloned()
                .map(|it| it.map(|()| Recorded::Repeated))
                .collect());
        }
        let new = self.insert(tx, &first).await?;
        if !new.is_empty() {
            tx.has_news();
        }
        let is_new = |at: usize| {
            let input = &self.inputs[at];
            first.get(&key(input)) == Some(&at)
                && new.contains(&(input.stream.to_string(), input.id.clone()))
        };
        let others: Vec<usize> =
            (0..self.inputs.len()).filter(|&at| self.checked[at].is_ok() && !is_new(at)).collect();
        let same = if others.is_empty() { Vec::new() } else { self.compare(tx, &others).await? };
        let same: BTreeMap<usize, bool> = others.into_iter().zip(same).collect();
        let answer = |(at, checked): (usize, &Result<(), InputRefused>)| {
            checked.clone()?;
            match same.get(&at) {
                None => Ok(Recorded::Recorded),
                Some(true) => Ok(Recorded::Repeated),
                Some(false) => {
                    let NewInput { stream, id, .. } = &self.inputs[at];
                    Err(InputRefused::Conflict { stream: stream.to_string(), id: id.clone() })
                }
            }
        };
        Ok(self.checked.iter().enumerate().map(answer).collect())
    }

    /// By their ids it finds what it wrote; what was new and is found is told as repeated.
    async fn look_again(&self, tx: &Tx<'_>) -> Result<Option<Sent>, Failure> {
        self.run(tx).await.map(Some)
    }

    fn wakes(&self, answer: &Sent) -> bool {
        answer.contains(&Ok(Recorded::Recorded))
    }
}

/// Makes inputs of receipts that this transaction has written, each by its command's number and
/// round: of those that are the first of a workflow's command. Whether it made one.
pub(crate) async fn of_receipts(
    tx: &Tx<'_>,
    numbers: &Vec<i64>,
    rounds: &Vec<i32>,
) -> Result<bool, Failure> {
    let made = !tx.query(OF_RECEIPT, &[numbers, rounds]).await?.is_empty();
    if made {
        tx.gave_input();
    }
    Ok(made)
}
