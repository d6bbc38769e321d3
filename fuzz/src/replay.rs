//! Every text of every vector as the input of every target, without a fuzzer.

use std::fs;
use std::path::Path;

use super::TARGETS;

fn texts(value: &serde_json::Value, found: &mut Vec<Vec<u8>>) {
    match value {
        serde_json::Value::String(text) => found.push(text.clone().into_bytes()),
        serde_json::Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        serde_json::Value::Object(items) => items.values().for_each(|item| texts(item, found)),
        _ => {}
    }
}

#[test]
fn every_target_accepts_every_vector() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors");
    let mut inputs = vec![Vec::new(), vec![0; 100]];
    for file in fs::read_dir(folder).expect("the vectors").flatten() {
        if file.path().extension().is_some_and(|end| end == "jsonl") {
            let lines = fs::read_to_string(file.path()).expect("text");
            for line in lines.lines() {
                let row = serde_json::from_str(line).expect("a row");
                texts(&row, &mut inputs);
            }
        }
    }
    assert!(inputs.len() > 1000);
    inputs.sort();
    inputs.dedup();
    for (_, target) in TARGETS {
        for input in &inputs {
            target(input);
            // With two bytes that select options, for the targets that read them.
            target(&[&[0, 1][..], input].concat());
        }
    }
}
