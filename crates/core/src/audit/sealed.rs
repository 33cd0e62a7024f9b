//! An audit that goes on from where the last one ended, and leaves a seal where it holds.
//!
//! Guarantees: the horizon is taken before anything is read, so no open transaction is passed; a
//! seal is written only if everything holds, and only over the one that was read. Does not: match a
//! receiver's book; see `match_inbox`.

use super::full::unsealed;
use super::pass::{From, Pass, SealFate, WhyFull};
use super::reading::Reading;
use super::report::{AuditReport, Findings};
use super::seal::{Seal, SealUnreadable};
use super::{AuditOptions, Expect, expect};
use crate::domain::laws::{Violation, law};
use crate::port::act::Actor;
use crate::port::seal::Horizon;
use crate::port::store::StoreError;
use crate::port::{Archive, Audited};

/// How often an audit begins anew when an archive or an erasure moves the seal.
const TRIES: usize = 3;

/// How much is looked at, and what is done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct How {
    /// Everything, not only what came since the last audit that held.
    pub full: bool,
    /// Commands that stand with neither a delivery nor a receipt are made uncertain, in the name
    /// of this actor; looks at everything.
    pub mend: Option<Actor>,
    /// What stands is sealed although it is not what was sealed, and tallies that say otherwise are
    /// counted anew, if nothing else is wrong, recorded in the name of this actor; looks at
    /// everything.
    pub reseal: Option<Actor>,
    /// The seal stays, even if all laws hold: something does not that this audit does not look at,
    /// such as a receiver's book.
    pub seal_stays: bool,
}

impl How {
    /// Leaves the seal as it is where `stays`, even if all laws hold.
    #[must_use]
    pub const fn seal_stays(mut self, stays: bool) -> Self {
        self.seal_stays = stays;
        self
    }

    /// Looks at everything.
    #[must_use]
    pub const fn full(mut self) -> Self {
        self.full = true;
        self
    }

    /// Seals what stands, although it is not what was sealed.
    #[must_use]
    pub fn reseal(mut self, actor: Actor) -> Self {
        self.reseal = Some(actor);
        self
    }

    const fn is_full(&self) -> bool {
        self.full || self.reseal.is_some() || self.mend.is_some()
    }

    /// Makes uncertain what was lost.
    #[must_use]
    pub fn mend(mut self, actor: Actor) -> Self {
        self.mend = Some(actor);
        self
    }
}

/// Why there was no audit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The store cannot be read, or a query of the user's own failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The seal of the last audit cannot be read, so it is not known from where to go on. A full
    /// audit begins a new one.
    #[error("the seal of the last audit cannot be read: {0}")]
    Seal(SealUnreadable),
}

/// Checks every law of one store: of what came since the last audit that held and of what is open,
/// or, where it is asked to or none has held yet, of everything; and what the user's own queries
/// expect.
///
/// # Errors
/// [`AuditError`]. A violation is no error; see [`AuditReport::holds`].
pub async fn audit_sealed<S: Audited + Archive>(
    store: &S,
    options: AuditOptions,
    how: How,
) -> Result<AuditReport, AuditError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let begun = begin(store, &how).await?;
        let mut told = once(store, &options, &how, &begun).await?;
        let moved = matches!(told.fate, SealFate::Moved);
        if moved && tries < TRIES {
            continue;
        }
        for expect in &options.expect {
            expected(store, expect, options.page.max(1), &begun, &mut told).await?;
        }
        return Ok(finish(store, told, begun, how).await);
    }
}

/// What a query of the user's own answers; a full audit has looked back already.
async fn expected<S: Audited>(
    store: &S,
    expect: &Expect,
    page: usize,
    begun: &Begun,
    told: &mut Told,
) -> Result<(), StoreError> {
    if begun.full.is_some() {
        return expect::forward(store, expect, page, &mut told.findings).await;
    }
    let sealed = expect.kind.as_deref().and_then(|kind| begun.seal.kinds.of(kind));
    expect.incremental(store, page, (sealed, begun.seal.horizon.n), &mut told.findings).await
}

/// The seal that an audit begins with.
struct Begun {
    seal: Seal,
    /// 0: none stands, and none could be written.
    version: i64,
    from: Option<From>,
    full: Option<WhyFull>,
    /// Why no seal can be written.
    refused: Option<String>,
}

/// What one try found.
struct Told {
    findings: Findings,
    fate: SealFate,
    /// The seal if everything holds; `None`: it stays where it is.
    next: Option<Seal>,
}

async fn begin<S: Audited>(store: &S, how: &How) -> Result<Begun, AuditError> {
    let mut refused = None;
    let asked = how.is_full().then_some(WhyFull::Asked);
    let mut stands = store.sealed().await?;
    if stands.is_none() {
        // A seal of nothing tells archives and erasures that somebody counts.
        match store.save_seal(0, &Seal::default().write()).await {
            Ok(_) => stands = store.sealed().await?,
            Err(error) => refused = Some(why(error)),
        }
    }
    let Some(stands) = stands else {
        let full = Some(asked.unwrap_or(WhyFull::First));
        return Ok(Begun { seal: Seal::default(), version: 0, from: None, full, refused });
    };
    let version = stands.version;
    match Seal::read(&stands.seal) {
        Ok(seal) => {
            let (n, full_at) = (seal.horizon.n, seal.full_at);
            let is_first = full_at.is_none();
            // An archive, an erasure or a full audit that does not hold writes the seal, too.
            let sealed_at = seal.held_at.unwrap_or(stands.recorded_at);
            let from = (!is_first).then_some(From { n, sealed_at, full_at });
            let needed = if is_first { WhyFull::First } else { WhyFull::Broken };
            let full = asked.or_else(|| (!seal.is_whole).then_some(needed));
            Ok(Begun { seal, version, from, full, refused })
        }
        Err(why) if asked.is_some() => {
            let full = Some(WhyFull::Unreadable(why.to_string()));
            Ok(Begun { seal: Seal::default(), version, from: None, full, refused })
        }
        Err(why) => Err(AuditError::Seal(why)),
    }
}

/// The horizon that the next seal has: never below the one before, unless that is given up.
fn reached(seal: &Seal, now: Option<Horizon>, full: bool, reseal: bool) -> Horizon {
    let was = seal.horizon;
    let Some(now) = now else { return was };
    if reseal {
        return now;
    }
    // Late attempts and events are found by reading all of them only.
    let (attempt, event) = if full { (now.attempt, now.event) } else { (was.attempt, was.event) };
    Horizon {
        n: now.n.max(was.n),
        receipt: now.receipt.max(was.receipt),
        attempt: attempt.max(was.attempt),
        contradiction: now.contradiction.max(was.contradiction),
        action: now.action.max(was.action),
        event: event.max(was.event),
    }
}

async fn once<S: Audited + Archive>(
    store: &S,
    options: &AuditOptions,
    how: &How,
    begun: &Begun,
) -> Result<Told, AuditError> {
    let Begun { seal, full, .. } = begun;
    let horizon = store.horizon().await?;
    let to = reached(seal, horizon, full.is_some(), how.reseal.is_some());
    let what = (options.expect.as_slice(), options.page.max(1), options.keep);
    let mut reading = Reading::new(store, what, seal, to);
    if let Some(now) = horizon.filter(|now| now.n < seal.horizon.n) {
        let (sealed, stands) = (seal.horizon.n, now.n);
        let found = format!("commands were sealed up to n {sealed}, and the newest is n {stands}");
        reading.findings.add([Violation::of(&law::SEAL_BEYOND, vec!["outbox".into()], &found)]);
    }
    if full.is_some() {
        reading.full(how.mend.as_ref()).await?;
    } else {
        reading.incremental(seal).await?;
    }
    let Reading { mut findings, old, fresh, recorded, kinds, totals, .. } = reading;
    let stands = store.sealed().await?.map_or(0, |stands| stands.version);
    if stands != begun.version {
        return Ok(Told { findings, fate: SealFate::Moved, next: None });
    }
    findings.add(totals);
    // Before the first seal nothing was summed.
    if full.is_some() && seal.full_at.is_some() {
        findings.add(unsealed(seal, &old.sums));
    }
    let fate = if horizon.is_none() { SealFate::Open } else { SealFate::Violated };
    let next = horizon.is_some().then(|| {
        let before = if full.is_some() { old.sums } else { seal.sums.clone() };
        let sums = before.and(fresh.sums);
        let Seal { full_at, held_at, .. } = *seal;
        Seal { horizon: to, is_whole: true, full_at, held_at, sums, recorded, kinds }
    });
    Ok(Told { findings, fate, next })
}

/// Writes what is to be written, and tells all.
async fn finish<S: Audited>(store: &S, told: Told, begun: Begun, how: How) -> AuditReport {
    let How { reseal, seal_stays, .. } = how;
    let Told { findings, fate, next } = told;
    let Begun { seal, version, from, full, refused } = begun;
    let holds = findings.holds() || (reseal.is_some() && findings.may_be_given_up());
    let recount = findings.miscounts();
    let seal = match (holds, next, refused) {
        (_, _, Some(why)) => SealFate::NotWritten(why),
        (true, Some(_), None) if seal_stays => SealFate::Violated,
        (true, Some(next), None) => {
            let held_at = store.now().ok();
            let full_at = if full.is_some() { held_at } else { next.full_at };
            renew(store, version, Seal { full_at, held_at, ..next }, (reseal, recount)).await
        }
        (false, _, None) if full.is_some() && seal.is_whole && !matches!(fate, SealFate::Moved) => {
            // So that the next audit looks at everything, too, until everything holds.
            let broken = Seal { is_whole: false, ..seal };
            let _told_anyway = store.save_seal(version, &broken.write()).await;
            SealFate::Violated
        }
        (false, _, None) => SealFate::Violated,
        (true, None, None) => fate,
    };
    let mut report = findings.into_report();
    report.pass = Some(Pass { full, from, seal });
    report
}

async fn renew<S: Audited>(
    store: &S,
    version: i64,
    seal: Seal,
    (reseal, recount): (Option<Actor>, bool),
) -> SealFate {
    let written = match reseal {
        Some(actor) => store.reseal(version, &seal.write(), actor, recount).await,
        None => store.save_seal(version, &seal.write()).await,
    };
    match written {
        Ok(true) => SealFate::Renewed(seal.horizon.n),
        // Between the comparison and this: what was compared stands.
        Ok(false) => SealFate::Moved,
        Err(error) => SealFate::NotWritten(why(error)),
    }
}

/// What the store said: it may well be whole, and this user not allowed to write.
fn why(error: StoreError) -> String {
    match error {
        StoreError::Broken(why) => why,
        other => other.to_string(),
    }
}
