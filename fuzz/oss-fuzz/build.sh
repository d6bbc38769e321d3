#!/bin/bash -eu
# Builds every Rust target with the sanitizer of OSS-Fuzz, and packs the first corpus of each. The targets in
# Python need the extension and run by `make fuzz` only.
cd "$SRC/subtrie"
SUBTRIE_ENGINE=reference PYTHONPATH=python python3 fuzz/seeds.py
cd fuzz
cargo fuzz build -O --features run
for source in targets/*.rs; do
    target=$(basename "$source" .rs)
    cp "../target/x86_64-unknown-linux-gnu/release/$target" "$OUT/"
    [ ! -d "corpus/$target" ] || (cd "corpus/$target" && zip -q -r "$OUT/${target}_seed_corpus.zip" .)
done
