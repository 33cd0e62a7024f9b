//! The one list of the cases that a store with an archive must pass, too.
//!
//! Guarantees: what `archive_cases` runs and what `archive_suite!` names is the same list. Does
//! not: hold rules; the files beside it do.

/// Makes a test of each case of the archive's suite.
///
/// `make` names an async function without arguments that gives a fresh store's [`Hands`], whose
/// store implements [`Archive`]. The tests are named `group::case`.
///
/// ```
/// # use counterfoil_testkit::exercise_store::MemoryHands;
/// async fn make() -> MemoryHands {
///     MemoryHands::default()
/// }
/// counterfoil_testkit::archive_suite!(make);
/// # fn main() {}
/// ```
///
/// [`Archive`]: counterfoil_core::port::Archive
/// [`Hands`]: crate::exercise_store::Hands
#[macro_export]
macro_rules! archive_suite {
    (@list $then:ident $args:tt) => {
        $crate::archive_suite! { @$then $args
            archiving {
                what_has_ended_comes_whole_in_pages
                what_is_open_or_young_is_not_among_it
                what_is_contradicted_waits_for_a_person
                what_is_buried_leaves_its_tombstone
                a_late_word_about_an_archived_command_is_kept
                what_has_changed_is_left
                a_buried_id_is_never_another_intent
                a_late_report_finds_the_tombstone
                a_late_contradiction_is_looked_into_once
                decisions_and_lanes_stay_sound
                tombstones_come_in_the_order_of_ids
                no_n_is_given_twice
                an_unreadable_one_is_counted
                a_seal_that_moved_stops_a_burial
                buriers_at_once_bury_each_once
            }
            erasing {
                content_goes_and_digests_stay
                what_a_report_ended_gets_its_digests_first
                what_is_open_is_not_erased
                a_second_erasure_changes_nothing
                what_was_erased_is_no_repeat
                an_archived_one_names_its_file
                an_archived_one_is_erased_once
                an_erased_one_is_buried_by_its_digest
                a_seal_that_moved_stops_an_erasure
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
                        $crate::exercise_store::run_archive(name, hands).await;
                    }
                )*
            }
        )*
    };
    ($make:path) => {
        $crate::archive_suite! { @list tests ($make) }
    };
}
