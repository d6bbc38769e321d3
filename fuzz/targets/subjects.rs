//! Hands what libFuzzer finds to `subtrie_fuzz::subjects`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| subtrie_fuzz::subjects(data));
