//! Hands what libFuzzer finds to `subtrie_fuzz::leaf`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| subtrie_fuzz::leaf(data));
