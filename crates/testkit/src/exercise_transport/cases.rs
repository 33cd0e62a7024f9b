//! The one list of all transport cases, and the macro that makes a test of each.
//!
//! Guarantees: what `transport_cases` runs and what `transport_suite!` names is the same list.
//! Does not: hold rules; the file beside it does.

/// Makes a test of each case of the transport suite.
///
/// `make` names an async function without arguments that gives a fresh
/// [`FarEnd`](crate::exercise_transport::FarEnd).
///
/// ```
/// # use counterfoil_testkit::exercise_transport::ScriptedFarEnd;
/// async fn make() -> ScriptedFarEnd {
///     ScriptedFarEnd::default()
/// }
/// counterfoil_testkit::transport_suite!(make);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! transport_suite {
    (@list $then:ident $args:tt) => {
        $crate::transport_suite! { @$then $args
            the_bytes_arrive_as_committed
            every_send_carries_the_commands_id
            done_is_completed_with_the_result
            what_arrived_has_passed_the_gate
            a_withdrawn_attempt_sends_nothing
            nothing_is_sent_after_the_deadline
            one_send_is_one_call_whatever_comes_of_it
            a_failure_is_unknown
            no_answer_is_unknown_within_the_request_timeout
            no_far_end_is_not_sent
            sends_at_once_do_not_mix
            a_send_that_is_dropped_spoils_no_other
        }
    };
    (@cases ($far_end:ident) $($case:ident)*) => {
        vec![$(TransportCase::<$far_end> {
            name: stringify!($case),
            run: |far_end| Box::pin(sending::$case(far_end)),
        },)*]
    };
    (@tests ($make:path) $($case:ident)*) => {
        mod transport_suite {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let far_end = $make().await;
                    $crate::exercise_transport::run_transport_case(stringify!($case), far_end)
                        .await;
                }
            )*
        }
    };
    ($make:path) => {
        $crate::transport_suite! { @list tests ($make) }
    };
}
