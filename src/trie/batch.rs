//! Many subjects at once: what each of them reaches, as plain numbers.
//!
//! While the index lies in the cache one lookup after another is fastest. Beyond it every lookup
//! waits for memory several times; then sixteen go side by side, each a step at a time, with what
//! the next step reads asked for in advance (see `lanes`).

use super::image::Image;
use super::lanes;
use super::walk::{Scratch, Store, match_into};
use super::{Index, Ticket};

/// What subjects reach: ids, one subject's after another's.
#[derive(Debug, Default)]
pub struct Reached {
    /// The ids of all subjects; each one's in ascending order.
    pub ids: Vec<u64>,
    /// Where the ids of each subject end.
    pub ends: Vec<usize>,
    /// Which rows are subjects.
    pub valid: Vec<bool>,
}

/// Where subjects can be looked up: a live index, or the image of one.
#[derive(Clone, Copy)]
pub enum Reading<'a> {
    /// In memory.
    Live(&'a Index),
    /// In an image.
    Image(&'a Image<'a>),
}

/// Room for a batch, kept between its parts.
#[derive(Default)]
pub struct Bench {
    scratch: Scratch,
    found: Vec<Ticket>,
    pub(super) lanes: lanes::Lanes,
}

impl Reading<'_> {
    /// Looks up texts, and appends what they reach to `reached`. `None` is no subject.
    pub fn reach<'t>(
        self,
        texts: impl Iterator<Item = Option<&'t [u8]>>,
        bench: &mut Bench,
        reached: &mut Reached,
    ) {
        match self {
            Self::Live(index) if index.memory_of_reading() > lanes::WORTH_IT => {
                lanes::reach(index, texts, bench, reached);
            }
            Self::Image(image) if image.size() > lanes::WORTH_IT => {
                lanes::reach(image, texts, bench, reached);
            }
            Self::Live(index) => one_by_one(index, texts, bench, reached),
            Self::Image(image) => one_by_one(image, texts, bench, reached),
        }
    }
}

fn one_by_one<'t, S: Store>(
    store: &S,
    texts: impl Iterator<Item = Option<&'t [u8]>>,
    bench: &mut Bench,
    reached: &mut Reached,
) {
    for text in texts {
        look_up(store, text, bench, reached);
    }
}

/// One lookup, as everywhere else.
pub(super) fn look_up<S: Store>(
    store: &S,
    text: Option<&[u8]>,
    bench: &mut Bench,
    reached: &mut Reached,
) {
    let Bench { scratch, found, .. } = bench;
    found.clear();
    let valid = text.is_some_and(|text| match_into(store, text, scratch, found).is_ok());
    if valid {
        reached.ids.extend(found.iter().map(|ticket| ticket.id));
    }
    reached.ends.push(reached.ids.len());
    reached.valid.push(valid);
}
