//! Hands what libFuzzer finds to `subtrie_fuzz::index`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| subtrie_fuzz::index(data));
