//! Bindings: the extension module `_subtrie`. Each function converts its arguments, calls the core,
//! and converts the result.

mod args;
mod arrow;
#[cfg(feature = "bench")]
mod bench;
mod buffer;
mod decode_batch;
mod display;
mod errors;
mod fork;
mod grammar;
mod http;
mod microbus;
mod names;
mod permissions;
mod slots;
mod trace_reader;
mod traffic_sums;
mod trie;
mod wire;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _subtrie {
    #[cfg(feature = "bench")]
    #[pymodule_export]
    use super::bench::_empty_call;
    #[pymodule_export]
    use super::decode_batch::{Batch, decode_batch};
    #[pymodule_export]
    use super::grammar::{check_pattern, check_subject, covers, matches, overlaps};
    #[pymodule_export]
    use super::http::{
        read_http_request, read_http_response, write_http_request, write_http_response,
    };
    #[pymodule_export]
    use super::microbus::decode::{classify, decode, decode_subscription, source_of};
    #[pymodule_export]
    use super::microbus::encode::{
        absolute_url, encode_reply, encode_reply_subscription, encode_request, encode_subscription,
        request_from_url, request_target, resolve_route, subscription_from_route,
    };
    #[pymodule_export]
    use super::microbus::parts::{
        check_identity_host, check_locality, check_method, check_plane, check_route_host,
        check_route_path, common_locality, cut_slot, escape_segment, flatten_host, locality_slot,
        locality_slots, unescape_segment, unflatten_host,
    };
    #[pymodule_export]
    use super::microbus::targets::RequestTargets;
    #[pymodule_export]
    use super::names::check_name;
    #[pymodule_export]
    use super::permissions::{
        rules_admit, rules_difference, rules_minimised, rules_overlap, rules_proof, rules_witness,
    };
    #[pymodule_export]
    use super::trace_reader::{EventBatch, LogDivider, TraceReader};
    #[pymodule_export]
    use super::traffic_sums::{TrafficSums, added_rates};
    #[pymodule_export]
    use super::trie::{Matches, SubjectTrie, Subscription, blank_subscription, nearest_batch};
    #[pymodule_export]
    use super::wire::op::Op;
    #[pymodule_export]
    use super::wire::parser::Parser;
    #[pymodule_export]
    use super::wire::reader::DeliveryReader;
    use super::{Bound, PyModule, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::trie::register(module.py())?;
        super::fork::register(module.py())
    }
}
