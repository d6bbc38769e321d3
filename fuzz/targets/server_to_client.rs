//! Hands what libFuzzer finds to `subtrie_fuzz::server_to_client`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| subtrie_fuzz::server_to_client(data));
