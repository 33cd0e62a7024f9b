//! The book of laws: each with its code, what it says, and what to do when it is broken.
//!
//! Guarantees: a code names one law for ever. Does not: check; see `of_command` and its like.

/// One law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Law {
    /// Its code, for ever.
    pub code: &'static str,
    /// What it says.
    pub says: &'static str,
    /// What to do when it is broken.
    pub remedy: &'static str,
}

macro_rules! laws {
    ($($name:ident $code:literal $says:literal $remedy:literal)*) => {
        /// The laws by name.
        pub mod law {
            use super::Law;
            $(
                #[doc = $says]
                pub const $name: Law = Law { code: $code, says: $says, remedy: $remedy };
            )*
        }

        /// All laws, by code.
        pub const LAWS: &[Law] = &[$(law::$name),*];
    };
}

laws! {
    ORPHAN_DELIVERY "CF0801"
        "Every delivery has its command."
        "a row was removed behind Counterfoil's back: stop the relays and look for it in a backup"
    ORPHAN_RECEIPT "CF0802"
        "Every receipt has its command, in the outbox or archived."
        "a row was removed behind Counterfoil's back: look for it in a backup"
    ORPHAN_ATTEMPT "CF0803"
        "Every attempt has its command."
        "a row was removed behind Counterfoil's back: look for it in a backup"
    LOST "CF0804"
        "Every command in the outbox is open or has ended."
        "it will not be delivered: `counterfoil audit --mend` makes it uncertain; then ask its \
         receiver what became of it, and `resolve` it"
    OPEN_AND_ENDED "CF0805"
        "An open delivery is of a newer round than any receipt."
        "it could be sent again after its end: pause the destination and ask its receiver"
    ROUNDS "CF0806"
        "Each round follows a receipt or a person's act, and has one receipt at most."
        "a round began by itself or a receipt was removed: compare with a backup"
    ARCHIVED_AND_HERE "CF0807"
        "An archived command is not in the outbox, and has no delivery."
        "an archive run was cut short or a backup was mixed in: keep both, compare their digests"
    BODY_CHANGED "CF0808"
        "A body never changes after its first attempt."
        "what was sent is not what stands: compare with a backup and with the receiver"
    ROW_CHANGED "CF0809"
        "No immutable column of a command changes after its first attempt."
        "the row is not the one that was sent: compare with a backup"
    DESTINATION_DIFFERS "CF0810"
        "Delivery and receipts name the destination of their command."
        "a row was changed by hand: the outbox row is what was meant"
    UNCERTAIN_WITHOUT_DOUBT "CF0811"
        "What is uncertain is in doubt."
        "a row was changed by hand: treat it as in doubt and ask the receiver"
    DEAD_IN_DOUBT "CF0812"
        "What is dead is not in doubt."
        "an attempt may have acted: ask the receiver before it is called failed"
    DOUBT_FORGOTTEN "CF0813"
        "A doubt goes only by evidence that is newer than the attempt."
        "an attempt may have acted and the row does not say so: ask the receiver"
    NOBODYS_TURN "CF0814"
        "What a machine owns has a time at which it is looked at next."
        "no relay will ever look at it: ask the receiver, and report this as a bug"
    PARKED_BUT_DUE "CF0815"
        "What is parked waits for a person only."
        "a row was changed by hand: end it with a person's verb"
    STRANGE_STATE "CF0816"
        "A state is one of the seven."
        "a newer version or a hand wrote it: use that version, or restore the row"
    UNREADABLE "CF0817"
        "A row that cannot be read is never under way, and no relay has settled it."
        "it could be read when it was claimed: the row was changed, compare with a backup"
    EVENT_GAP "CF0818"
        "The events of a stream are numbered without a gap."
        "an event was removed behind Counterfoil's back: look for it in a backup"
    EVENT_COMMANDS "CF0819"
        "An event has as many commands as it issued."
        "a command of this decision was removed or added: look for it in a backup"
    TOTALS "CF0820"
        "Open and ended commands together are those in the outbox and in the archive."
        "find the command by the other violations; once it is mended, or without one, \
         `audit --reseal` counts anew"
    TALLY "CF0821"
        "The tally counts newest receipts."
        "a receipt or a count was changed by hand: the receipts are the evidence, and once nothing \
         else is wrong `audit --reseal` counts them anew"
    CONTRADICTED "CF0822"
        "No report says otherwise than the receipt of its command, unless a person looked into it."
        "the receiver said two things: `show` both, ask it, then `resolve` with the evidence"
    DIGEST_MISSING "CF0823"
        "What a relay settled keeps the digests of what was sent."
        "a receipt was changed by hand, so a change of its command would not show: use a backup"
    EVENT_MISSING "CF0824"
        "A command of a decision has the event that issued it."
        "an event was removed or changed behind Counterfoil's back: look for it in a backup"
    LANE_PLACE "CF0825"
        "A command with an ordering key has one place in its lane, and no other command has one."
        "its order is lost: pause the destination, and compare with a backup"
    LANE_ORDER "CF0826"
        "Places of a lane are dense, held once, and at most its last, until one is archived."
        "a command of the lane was removed, or given a place twice: compare with a backup"
    LANE_IN_FLIGHT "CF0827"
        "One command of a lane is in flight at most."
        "its receiver may get commands out of order: pause the destination and ask it"
    TOMBSTONE_CHANGED "CF0828"
        "What stays of an archived command never changes."
        "an id could be used twice, or a late report be answered wrongly: compare with its file"
    ORPHAN_ACTION "CF0829"
        "Every act of a person about a command has its command, in the outbox or archived."
        "a row was removed behind Counterfoil's back: look for it in a backup"
    EXPECTED_MISSING "CF0831"
        "Each id that the user's own query expects is a command."
        "the command was never written beside its row: write it now, under this id"
    EXPECTED_EXTRA "CF0832"
        "Each command of a kind is expected by the user's own query."
        "its row was never written or is gone: find out which, before its effect spreads"
    KEY_MISSING "CF0841"
        "What the receiver completed has its key in the receiver's book."
        "the receiver forgot the key or never acted: ask it, and keep keys longer than retries last"
    KEY_UNKNOWN "CF0842"
        "Each key in the receiver's book is a command of this store."
        "the receiver acted on what nobody asked for: another store, a lost row, or a forged call"
    KEY_REFUSED "CF0843"
        "What has completed was not refused in the receiver's book."
        "the two sides disagree: look at the evidence of the receipt"
    KEY_ACTED "CF0844"
        "What ended without its effect has no effect in the receiver's book."
        "the receiver acted although the command ended otherwise: undo it there, or resolve it here"
    KEY_REPEATED "CF0845"
        "Each key stands once in the receiver's book."
        "the receiver acted twice on one command: undo one there; where several rows are one \
         effect, let the query tell each id once (SELECT DISTINCT)"
    SEALED "CF0851"
        "What an audit has sealed is never removed, changed or added to."
        "rows were written behind Counterfoil's back: compare with a backup, else `audit --reseal`"
    SEAL_BEYOND "CF0852"
        "No seal reaches beyond the newest command."
        "the newest commands are gone: after a restore or a failover run `restored`; once it is \
         understood, `audit --reseal`"
    COPY_DIFFERS "CF0860"
        "A delivery repeats the ordering key and the expiry of its command."
        "a row was changed by hand: the outbox row is what was meant"
    TURN "CF0861"
        "Of a lane, who is looked at next has the turn, and nobody else."
        "a row was changed by hand: pause the destination, and compare with a backup"
    LEASE "CF0862"
        "What is sent or asked about has a lease until it is looked at next; nothing else has one."
        "a row was changed by hand: two relays could send it at once; pause the destination"
    TOKEN_ORDER "CF0863"
        "A token of a command is newer than all that came before it."
        "an older attempt could settle it, or a newer one could not: compare with a backup"
    COUNTS "CF0864"
        "The attempts and questions of a round are those that its rows tell of."
        "a count was changed by hand, or an attempt removed: compare with a backup"
    NEVER_CLAIMED "CF0865"
        "What was never claimed carries nothing of an attempt, and is due at its own time."
        "a row was changed by hand: it may be sent at another time than it was meant to"
    STATE_UNFOUNDED "CF0866"
        "A state, and the words for it, is what the newest attempt of its round came to."
        "a row was changed by hand: `show` tells its attempts; ask the receiver if it was sent"
    FIRST_SEND "CF0867"
        "A first send stands where an attempt may have acted, and is no later than its token."
        "the receiver's memory is counted from it: ask the receiver before anything is sent again"
    DOUBT_UNFOUNDED "CF0868"
        "A doubt comes from an attempt, a restore or a person's retry."
        "a row was changed by hand, or an attempt removed: ask the receiver"
    PLACE_IN_DECISION "CF0869"
        "A command of a decision is named after its place in it."
        "a row was changed by hand: its id is what the receiver knows it by"
    SOURCE "CF0870"
        "A receipt says what its source can know."
        "a receipt was changed by hand: ask the receiver what became of it"
    REDELIVERED "CF0871"
        "Each redelivery on record reopened the receipt that it names."
        "a receipt or a record of a person was changed or removed: compare with a backup"
    ERASED "CF0872"
        "What was erased has ended, by a person on record, and keeps nothing of its content."
        "a row was changed by hand, and a change of its command would not show: use a backup"
    ATTEMPT "CF0873"
        "An attempt is about a send or a question of a round that was begun."
        "a row was changed by hand: compare with a backup"
    STRANGE_OUTCOME "CF0874"
        "An outcome is one of the five."
        "a newer version or a hand wrote it: use that version, or restore the row"
    FLOW_HEAD "CF0881"
        "A workflow is at its newest event."
        "its row or an event was changed by hand, and no runner can go on: compare with a backup"
    FLOW_STATUS "CF0882"
        "A workflow has ended as its decisions say, says why it is set aside, and is held only \
         while it runs."
        "its row or an event was changed by hand: compare with a backup, then `workflow verify`"
    FLOW_EVENTS "CF0883"
        "A workflow's events are decisions: the event of an input, then as many as it says."
        "an event was changed by hand: compare with a backup, then `workflow verify`"
    INPUT_DECIDED "CF0884"
        "An input that was decided waits no more."
        "a row was put back by hand, and stands in the way of its workflow: remove it from `input`"
    INPUT_KIND "CF0885"
        "An input is of one of the five kinds, and is as its kind wants it."
        "a newer version or a hand wrote it: use that version, or remove it from `input`"
    POINTER "CF0886"
        "An input that points to a receipt has its command, and that its receipt."
        "it was forged, or a receipt was removed: its workflow ignores it; compare with a backup"
    INPUT_SERVED "CF0887"
        "An input waits for the program that decides its stream."
        "no runner finds it: set its column `workflow` to NULL, and it is adopted"
    UNHEARD "CF0888"
        "Every first receipt of a workflow's command waits as an input, or was decided."
        "an input or an event was removed, and its workflow waits for ever: use a backup, or cancel"
    FLOW_ROW "CF0889"
        "What a workflow decided has its row, and that names the workflow that was started."
        "its row was changed or removed by hand, and no runner finds it: compare with a backup"
    TIMER "CF0890"
        "The timers that wait are those that decisions set, and neither took back nor heard."
        "one was changed by hand, and its workflow may wait for ever: use a backup, or cancel"
    BODY_PLACE "CF0891"
        "The body of an event is in its row, or, of a workflow's, in the file that the row names \
         with its digest."
        "a row was changed by hand: `archive --verify` tells whether its file has the body; else \
         compare with a backup"
    NUMBER "CF0892"
        "A number that the store gave is 1 or larger, and a command's id is not empty."
        "a row was changed or added by hand: compare with a backup"
    EVENT_UNREADABLE "CF0893"
        "An event can be read: its stream and its kind are names."
        "its row was changed by hand, and nothing reads its stream past it: compare with a backup"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_rise_and_name_one_law_each() {
        assert!(LAWS.windows(2).all(|pair| pair[0].code < pair[1].code));
        assert!(LAWS.iter().all(|law| law.code.len() == 6 && law.code.starts_with("CF08")));
        assert!(LAWS.iter().all(|law| law.says.ends_with('.') && !law.remedy.ends_with('.')));
    }
}
