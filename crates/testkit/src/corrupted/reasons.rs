//! Why a corruption is not found, even by an audit that has a seal.
//!
//! Guarantees: the test fails at a miss without a reason, and at a reason without a miss. Does not:
//! excuse; what could be found should be.

use super::change::How::{
    self, DayEarlier, DayLater, Empty, Less, More, Name, Negative, Null, Other, Value, Zero,
};
use super::{Case, Change};

/// A reason: for which changes of which columns. No columns: the whole row, removed or repeated.
pub(super) struct Reason {
    table: &'static str,
    columns: &'static [&'static str],
    hows: &'static [How],
    pub(super) why: &'static str,
    /// The store that alone has such rows or columns; none: all.
    only: &'static [&'static str],
}

const TIMES: &[How] = &[Less, More, DayEarlier, DayLater];

macro_rules! reasons {
    ($($table:literal $columns:expr, $hows:expr, $why:literal $(=> $store:literal)?)*) => {
        pub(super) const REASONS: &[Reason] = &[$(
            Reason {
                table: $table,
                columns: &$columns,
                hows: $hows,
                why: $why,
                only: &[$($store)?],
            }
        ),*];
    };
}

reasons! {
    "outbox" ["erased_at"], TIMES,
        "when a command was erased is not part of its digest; the act's own record is sealed"
    "delivery" ["state"], &[Name],
        "whether a doubt is asked about, sent again or left to a person is the contract's to say, \
         and the next look at it says so again"
    "delivery" ["round_since"], &[Less, More, DayEarlier],
        "an attempt that was not sent may have begun the round; later than the token is found"
    "delivery" ["attempts"], &[Less],
        "a probe of a breaker is an attempt that does not count"
    "delivery" ["in_doubt"], &[Less],
        "the number is -1, which is read as in doubt: where one may stand, that is nothing new"
    "delivery" ["in_doubt"], &[More],
        "the number is 2, which is read as 1; or the doubt is new, and of what may have acted"
    "delivery" ["available_at"], TIMES,
        "how long a relay waits is drawn by chance, within its own settings; status shows it"
    "delivery" ["token"], &[Less, More],
        "an attempt that was handed back leaves a token and no row, so a token may be any newer one"
    "delivery" ["lease_owner"], &[Other],
        "a name for people, which nothing compares"
    "delivery" ["first_sent_at"], &[Less, More, DayEarlier, Null, Value],
        "an earlier round, a restore or a conflict may have set it; later than the token is found"
    "delivery" ["last_lease_until"], &[Less, More, DayEarlier, DayLater, Null, Value],
        "the length of a lease is the relay's; earlier than the lease that stands is found"
    "delivery" ["last_outcome"], &[Other],
        "accepted leaves no row beside it, so what was said with it stands nowhere else"
    "delivery" ["key_seq"], &[Less],
        "once one of a lane is archived, its places have gaps"
    "receipt" [], &[],
        "a mark holds the number of an archived row and belongs to no command" => "sqlite"
    "receipt" ["recorded_at"], TIMES,
        "a mark holds the number of an archived row and belongs to no command" => "sqlite"
    "attempt" [], &[],
        "in a round that has ended a settle may be told twice; rows after the seal are new"
    "contradiction" [], &[],
        "it came after the seal, and somebody has looked into what it says"
    "event" ["file"], &[Other],
        "an audit looks into no file: `archive --verify` tells that no file of that name is there"
    "stream" ["version"], &[Less, More, Null],
        "no witness: the inputs that wait for it tell which version decides it, and here none does"
    "stream" ["lease_owner", "lease_until"], &[Less, More, DayEarlier, DayLater, Other, Null],
        "a lease saves work and protects nothing: the head does"
    "stream" ["reason", "input"], &[Other, Null],
        "words for people, which nothing compares"
    "stream" ["changed_at"], &[Less, More, DayEarlier, DayLater, Null],
        "a time for people, which nothing compares"
    "snapshot" [], &[],
        "it saves work: without it a runner replays the events, and another program's is not read"
    "snapshot" ["stream", "name", "version", "recorded_at"],
        &[Less, More, DayEarlier, DayLater, Other, Empty],
        "it saves work: without it a runner replays the events, and another program's is not read"
    "snapshot" ["seq", "state"], &[Less, More, Other],
        "no witness: a runner goes on from what it saved; `workflow verify` decides again from the \
         events alone, and a snapshot may be removed at any time"
    "input" [], &[],
        "no witness: strangers may send anything, and nothing else says what they sent"
    "input" ["stream", "id", "kind", "name", "body"], &[Other, Empty, Name, Null],
        "no witness: nothing else says what strangers sent; its workflow decides what is in it"
    "input" ["workflow"], &[Null],
        "one that is set aside is adopted by the upkeep of inputs"
    "input" ["recorded_at"], TIMES,
        "when it came is for people, for its turn among timers, and for orphans that expire"
    "lane" [], &[],
        "all commands of the lane are archived: whatever number comes next is free"
    "lane" ["last"], &[Less, More],
        "once one of a lane is archived, its places have gaps"
    "lane" ["n"], &[More, Zero, Negative, Null],
        "nobody has the turn of that lane now; the next command writes the number anew" => "sqlite"
    "operator_action" [], &[],
        "people may do the same again; rows that came after the seal are new"
    "destination" [], &[],
        "the relay declares its contract again at its start, and refuses to claim by another"
    "destination" ["name", "contract", "paused_at", "paused_by", "paused_why"],
        &[Less, More, DayEarlier, DayLater, Other, Null, Value],
        "contracts and pauses may be changed at any time; `doctor` compares them with the relay's"
    "meta" [], &[],
        "the store cannot be opened without its one row"
    "meta" ["k", "version", "source", "store", "clock"],
        &[Less, More, Zero, Negative, DayEarlier, DayLater, Other],
        "a file is opened by version and source, and `doctor` names a clock ahead; nothing else \
         says what they were"
    "inbox" [], &[],
        "the receiver's book is matched by `--inbox`, from the other side"
    "inbox" ["source", "key", "digest", "outcome", "result", "received_at", "expires_at"],
        &[Less, More, DayEarlier, DayLater, Other, Name, Null, Value],
        "the receiver's book is matched by `--inbox`, from the other side"
}

impl Reason {
    /// Whether a store has what it is about.
    pub(super) fn is_of(&self, store: &str) -> bool {
        self.only.is_empty() || self.only.contains(&store)
    }

    /// Whether it is the reason for a miss.
    pub(super) fn covers(&self, case: &Case) -> bool {
        self.table == case.table
            && match &case.change {
                Change::Delete | Change::Duplicate => self.columns.is_empty(),
                Change::Alter { column, how, .. } => {
                    // What nothing compares may be any text, and none.
                    let is_text = [How::NoText, How::Control, How::TooLong].contains(how);
                    let is_any = is_text && self.hows.contains(&Other);
                    self.columns.contains(&column.as_str()) && (is_any || self.hows.contains(how))
                }
            }
    }
}
