//! The time to open an image, and to make an index of it, which its first change does.

use std::hint::black_box;
use std::time::Instant;

use serde_json::json;
use subtrie::raw::{Image, as_words};

use super::WHO;
use super::clock::nanoseconds;
use super::files::Workload;

const ROUNDS: usize = 5;

/// Prints a row for each: the least of several rounds.
pub fn measure(workload: &Workload) {
    let bytes = workload.index().to_image((None, None));
    let words = as_words(&bytes);
    let open = |verify| {
        Image::open(&words, bytes.len(), verify).unwrap_or_else(|error| {
            eprintln!("{error}");
            std::process::exit(1)
        })
    };
    let image = open(false);
    let verified = || _ = black_box(open(true));
    let unverified = || _ = black_box(open(false));
    let built = || _ = black_box(image.to_index().is_ok());
    let forms: [(&str, &dyn Fn()); 3] = [
        ("verified", &verified),
        ("unverified", &unverified),
        ("built", &built),
    ];
    for (form, work) in forms {
        let took = (0..ROUNDS).map(|_| {
            let started = Instant::now();
            work();
            nanoseconds(started.elapsed())
        });
        println!(
            "{}",
            json!({
                "who": WHO, "measure": "image", "size": workload.size, "form": form,
                "least_ns": took.fold(f64::INFINITY, f64::min).round(),
            })
        );
    }
}
