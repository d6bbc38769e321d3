//! Hands what libFuzzer finds to `subtrie_fuzz::client`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| subtrie_fuzz::client(data));
