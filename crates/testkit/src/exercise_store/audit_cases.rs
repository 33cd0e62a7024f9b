//! The one list of the cases that a store with an audit from a seal must pass, too.
//!
//! Guarantees: what `audit_cases` runs and what `audit_suite!` names is the same list. Does
//! not: hold rules; the files beside it do.

/// Makes a test of each case of the audit's suite.
///
/// `make` names an async function without arguments that gives a fresh store's [`Hands`], whose
/// store implements [`Audited`] and [`Archive`]. The tests are named `group::case`.
///
/// ```
/// # use counterfoil_testkit::exercise_store::MemoryHands;
/// async fn make() -> MemoryHands {
///     MemoryHands::default()
/// }
/// counterfoil_testkit::audit_suite!(make);
/// # fn main() {}
/// ```
///
/// [`Archive`]: counterfoil_core::port::Archive
/// [`Audited`]: counterfoil_core::port::Audited
/// [`Hands`]: crate::exercise_store::Hands
#[macro_export]
macro_rules! audit_suite {
    (@list $then:ident $args:tt) => {
        $crate::audit_suite! { @$then $args
            auditing {
                nothing_at_or_below_a_horizon_comes_later
                what_ended_since_comes_in_the_order_of_arrival
                events_and_acts_and_contradictions_come_in_pages
                commands_are_known_by_their_numbers
                a_seal_is_written_over_the_one_that_was_read
                what_was_lost_is_uncertain_and_recorded
                what_stands_is_not_mended
                a_lost_one_of_a_lane_has_a_place_again
            }
            sealing {
                the_first_audit_is_full_and_the_next_goes_on
                an_audit_goes_on_over_everything_that_happens
                a_removed_row_breaks_the_seal
                who_gives_a_seal_up_is_recorded
                what_is_archived_and_erased_keeps_the_seal
                a_removed_tombstone_is_missed_at_once
                a_seal_says_when_its_audit_held
                a_seal_stays_while_a_book_beside_it_does_not_agree
                an_archive_beside_an_audit_is_no_violation
                a_contradiction_is_found_until_it_is_looked_into
                a_late_contradiction_is_found_until_it_is_looked_into
                a_forgotten_receipt_shows_in_the_totals
                an_audit_mends_what_was_lost
            }
            unreadable {
                what_a_relay_has_read_is_found_when_it_is_unreadable
                what_no_relay_could_read_breaks_no_law
            }
            counting {
                a_reseal_counts_a_tally_anew
                a_tally_stays_while_more_is_wrong
            }
        }
    };
    (@cases ($hands:ident) $($group:ident { $($case:ident)* })*) => {
        vec![$($(Case::<$hands> {
            group: stringify!($group),
            name: stringify!($case),
            run: |hands| Box::pin($group::$case(hands)),
        },)*)*]
    };
    (@tests ($make:path) $($group:ident { $($case:ident)* })*) => {
        $(
            mod $group {
                use super::*;
                $(
                    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                    async fn $case() {
                        let hands = $make().await;
                        let name = stringify!($case);
                        $crate::exercise_store::run_audit(name, hands).await;
                    }
                )*
            }
        )*
    };
    ($make:path) => {
        $crate::audit_suite! { @list tests ($make) }
    };
}
