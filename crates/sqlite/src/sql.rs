//! The statements of the store, each in its own file under `sql/sqlite`.
//!
//! Guarantees: a statement is prepared once a connection and held. Does not: run anything; a test
//! asserts that each file is served by the index that its first line names.

use rusqlite::{CachedStatement, Connection};

macro_rules! statements {
    ($($name:ident = $file:literal,)*) => {
        /// One statement.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Sql { $($name),* }

        /// How many there are.
        const COUNT: usize = [$(Sql::$name),*].len();

        impl Sql {
            /// Its text.
            pub(crate) const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => {
                        include_str!(concat!("../../../sql/sqlite/", $file, ".sql"))
                    })*
                }
            }
        }
    };
}

statements! {
    ActionAcknowledging = "action_acknowledging",
    ActionAfter = "action_after",
    ActionAny = "action_any",
    ActionClearing = "action_clearing",
    ActionErase = "action_erase",
    ActionInsert = "action_insert",
    ActionOfCommand = "action_of_command",
    ActionOfEntry = "action_of_entry",
    ActionRedelivered = "action_redelivered",
    ActionRestored = "action_restored",
    ArchivedAfter = "archived_after",
    ArchivedAny = "archived_any",
    ArchivedCount = "archived_count",
    ArchivedInsert = "archived_insert",
    ArchivedRow = "archived_row",
    ArchivedWhole = "archived_whole",
    ArrivalNewest = "arrival_newest",
    AttemptErase = "attempt_erase",
    AttemptInsert = "attempt_insert",
    AttemptMark = "attempt_mark",
    AttemptOfCommand = "attempt_of_command",
    AttemptRemove = "attempt_remove",
    BodyArchived = "body_archived",
    BodyArchivedBefore = "body_archived_before",
    BodyBack = "body_back",
    BodyOld = "body_old",
    BodyStreams = "body_streams",
    BodyTake = "body_take",
    ClockSave = "clock_save",
    ClockSaved = "clock_saved",
    ContradictionAfter = "contradiction_after",
    ContradictionAny = "contradiction_any",
    ContradictionErase = "contradiction_erase",
    ContradictionInsert = "contradiction_insert",
    ContradictionOfCommand = "contradiction_of_command",
    DeliveryAwaiting = "delivery_awaiting",
    DeliveryClaim = "delivery_claim",
    DeliveryDue = "delivery_due",
    DeliveryEnd = "delivery_end",
    DeliveryExpired = "delivery_expired",
    DeliveryInsert = "delivery_insert",
    DeliveryIsDue = "delivery_is_due",
    DeliveryIsExpired = "delivery_is_expired",
    DeliveryLeft = "delivery_left",
    DeliveryNextDue = "delivery_next_due",
    DeliveryPage = "delivery_page",
    DeliveryPark = "delivery_park",
    DeliveryRemove = "delivery_remove",
    DeliveryReopen = "delivery_reopen",
    DeliveryRow = "delivery_row",
    DeliveryUpdate = "delivery_update",
    DestinationAll = "destination_all",
    DestinationContracts = "destination_contracts",
    DestinationDeclare = "destination_declare",
    DestinationPause = "destination_pause",
    DestinationResume = "destination_resume",
    DestinationRow = "destination_row",
    EndedAfter = "ended_after",
    EntryOutbox = "entry_outbox",
    EventAfter = "event_after",
    EventArchived = "event_archived",
    EventAt = "event_at",
    EventBegins = "event_begins",
    EventCause = "event_cause",
    EventCommands = "event_commands",
    EventFacts = "event_facts",
    EventHead = "event_head",
    EventInsert = "event_insert",
    EventIssued = "event_issued",
    EventIssuing = "event_issuing",
    EventLoad = "event_load",
    EventNewest = "event_newest",
    EventOfCause = "event_of_cause",
    FactsAttempt = "facts_attempt",
    FactsDelivery = "facts_delivery",
    FactsNumbers = "facts_numbers",
    FactsOpenNumbers = "facts_open_numbers",
    FactsOutbox = "facts_outbox",
    FactsReceipt = "facts_receipt",
    FlowFacts = "flow_facts",
    FlowOpenFacts = "flow_open_facts",
    FlowTimers = "flow_timers",
    InputAdopt = "input_adopt",
    InputAside = "input_aside",
    InputAtOnce = "input_at_once",
    InputAtOnceBehind = "input_at_once_behind",
    InputByHand = "input_by_hand",
    InputFacts = "input_facts",
    InputNext = "input_next",
    InputOfReceipt = "input_of_receipt",
    InputOfStream = "input_of_stream",
    InputPointersEnd = "input_pointers_end",
    InputRemove = "input_remove",
    InputRestart = "input_restart",
    InputRow = "input_row",
    InputSend = "input_send",
    InputServe = "input_serve",
    InputSetAside = "input_set_aside",
    InputStarts = "input_starts",
    InputTakeAway = "input_take_away",
    InputTexts = "input_texts",
    InputTimed = "input_timed",
    InputTimedBehind = "input_timed_behind",
    InputTimer = "input_timer",
    InputTimersEnd = "input_timers_end",
    InputUndecided = "input_undecided",
    InputUnset = "input_unset",
    Known = "known",
    LaneAfter = "lane_after",
    LaneAhead = "lane_ahead",
    LaneArchived = "lane_archived",
    LaneAround = "lane_around",
    LaneBack = "lane_back",
    LaneBlocked = "lane_blocked",
    LaneCommands = "lane_commands",
    LaneFirst = "lane_first",
    LaneFirstWaiting = "lane_first_waiting",
    LaneFreed = "lane_freed",
    LaneFreedAny = "lane_freed_any",
    LaneFreedRemove = "lane_freed_remove",
    LaneHasTurn = "lane_has_turn",
    LaneLast = "lane_last",
    LaneNext = "lane_next",
    LaneOutboxAfter = "lane_outbox_after",
    LanePlacesAfter = "lane_places_after",
    LanePlacesBefore = "lane_places_before",
    LanePromote = "lane_promote",
    LaneRowAfter = "lane_row_after",
    LaneTurn = "lane_turn",
    LaneTurnId = "lane_turn_id",
    LaneUnmake = "lane_unmake",
    LaneYield = "lane_yield",
    ListAll = "list_all",
    ListOpen = "list_open",
    ListParked = "list_parked",
    EraseAgain = "erase_again",
    ActionErased = "action_erased",
    Numbers = "numbers",
    MendDelivery = "mend_delivery",
    MendLost = "mend_lost",
    OutboxAct = "outbox_act",
    OutboxErase = "outbox_erase",
    OutboxInsert = "outbox_insert",
    OutboxIssued = "outbox_issued",
    OutboxNewest = "outbox_newest",
    OutboxNumber = "outbox_number",
    OutboxRemove = "outbox_remove",
    OutboxReport = "outbox_report",
    OutboxRow = "outbox_row",
    OutboxTwin = "outbox_twin",
    ReceiptControl = "receipt_control",
    ReceiptDigest = "receipt_digest",
    ReceiptErase = "receipt_erase",
    ReceiptFirst = "receipt_first",
    ReceiptInsert = "receipt_insert",
    ReceiptMark = "receipt_mark",
    ReceiptNewest = "receipt_newest",
    ReceiptOfCommand = "receipt_of_command",
    ReceiptRemove = "receipt_remove",
    ReceiptSince = "receipt_since",
    ReceiptUnheard = "receipt_unheard",
    SealRow = "seal_row",
    SealWrite = "seal_write",
    SnapshotSave = "snapshot_save",
    StatusDue = "status_due",
    StatusExpiring = "status_expiring",
    StatusOpen = "status_open",
    StreamBegin = "stream_begin",
    StreamByHand = "stream_by_hand",
    StreamEnd = "stream_end",
    StreamForget = "stream_forget",
    StreamGoOn = "stream_go_on",
    StreamKnown = "stream_known",
    StreamLetGo = "stream_let_go",
    StreamList = "stream_list",
    StreamListOpen = "stream_list_open",
    StreamListWaiting = "stream_list_waiting",
    StreamNeverBegan = "stream_never_began",
    StreamQuarantine = "stream_quarantine",
    StreamRetry = "stream_retry",
    StreamRow = "stream_row",
    StreamStands = "stream_stands",
    StreamWithSnapshot = "stream_with_snapshot",
    TallyAdd = "tally_add",
    TallyAll = "tally_all",
    TotalsArchived = "totals_archived",
    TotalsEnded = "totals_ended",
    TotalsOpen = "totals_open",
    TotalsOutbox = "totals_outbox",
    UserContradicts = "user_contradicts",
    UserEventInsert = "user_event_insert",
    UserOpenRound = "user_open_round",
    UserOutboxInsert = "user_outbox_insert",
    UserPassMake = "user_pass_make",
    UserPassSet = "user_pass_set",
    UserReportInsert = "user_report_insert",
}

/// Statements looked up once and held for the length of a transaction: the cache of a connection
/// hashes the whole text each time, which a row would feel.
pub(crate) struct Held<'c> {
    connection: &'c Connection,
    statements: [Option<CachedStatement<'c>>; COUNT],
}

impl<'c> Held<'c> {
    pub(crate) fn new(connection: &'c Connection) -> Self {
        Self { connection, statements: [const { None }; COUNT] }
    }

    /// The statement, prepared.
    pub(crate) fn get(&mut self, sql: Sql) -> rusqlite::Result<&mut CachedStatement<'c>> {
        let held = &mut self.statements[sql as usize];
        match held {
            Some(statement) => Ok(statement),
            None => Ok(held.insert(self.connection.prepare_cached(sql.text())?)),
        }
    }
}
