//! Hands what libFuzzer finds to `subtrie_fuzz::trace_events`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| subtrie_fuzz::trace_events(data));
