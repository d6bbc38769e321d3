//! Many subjects at once: what each of them reaches, as plain numbers.
//!
//! While the index lies in the cache one lookup after another is fastest. Beyond it every lookup
//! waits for memory several times; then sixteen go side by side, each a step at a time, with what
//! the next step reads asked for in advance (see `lanes`).

use super::Index;
use super::image::Image;
use super::lanes;
use super::reached::{Reached, Room};
use super::walk::Store;

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
    room: Room,
    lanes: lanes::Lanes,
}

impl Reading<'_> {
    /// Looks up texts, and appends what they reach to `reached`. `None` is no subject.
    pub fn reach<'t>(
        self,
        texts: impl Iterator<Item = Option<&'t [u8]>>,
        bench: &mut Bench,
        reached: &mut Reached,
    ) {
        let Bench { room, lanes } = bench;
        match self {
            Self::Live(index) if index.memory_of_reading() > lanes::WORTH_IT => {
                lanes::reach(index, texts, lanes, room, reached);
            }
            Self::Image(image) if image.size() > lanes::WORTH_IT => {
                lanes::reach(image, texts, lanes, room, reached);
            }
            Self::Live(index) => one_by_one(index, texts, room, reached),
            Self::Image(image) => one_by_one(image, texts, room, reached),
        }
    }
}

fn one_by_one<'t, S: Store>(
    store: &S,
    texts: impl Iterator<Item = Option<&'t [u8]>>,
    room: &mut Room,
    reached: &mut Reached,
) {
    for text in texts {
        reached.look_up(store, text, room);
    }
}
