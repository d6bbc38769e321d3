//! Hands what libFuzzer finds to `subtrie_fuzz::route_legacy`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| subtrie_fuzz::route_legacy(data));
