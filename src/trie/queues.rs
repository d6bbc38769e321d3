//! The names of queues, each kept once for as long as a subscription has it.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::ticket::NONE;

#[derive(Clone, Default)]
pub(super) struct Queues {
    names: Vec<Name>,
    numbers: HashMap<Box<str>, u32, RandomState>,
    free: Vec<u32>,
}

#[derive(Clone, Default)]
struct Name {
    text: Box<str>,
    members: u32,
}

impl Queues {
    /// How many names there are.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    pub fn name(&self, number: u32) -> Option<&str> {
        self.names.get(number as usize).map(|name| &*name.text)
    }

    /// The number of a name for one more member, `NONE` for no queue.
    pub fn engage(&mut self, name: Option<&str>) -> u32 {
        let Some(name) = name else {
            return NONE;
        };
        if let Some(&number) = self.numbers.get(name) {
            self.names[number as usize].members += 1;
            return number;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.names.push(Name::default());
            u32::try_from(self.names.len() - 1).unwrap_or(NONE)
        });
        self.names[number as usize] = Name {
            text: name.into(),
            members: 1,
        };
        self.numbers.insert(name.into(), number);
        number
    }

    /// One member less.
    pub fn release(&mut self, number: u32) {
        let Some(name) = self.names.get_mut(number as usize) else {
            return;
        };
        name.members -= 1;
        if name.members > 0 {
            return;
        }
        let text = std::mem::take(&mut name.text);
        self.numbers.remove(&text);
        self.free.push(number);
        if self.numbers.capacity() > 8 * self.numbers.len() + 16 {
            self.numbers.shrink_to(2 * self.numbers.len());
        }
        if self.numbers.is_empty() {
            *self = Self::default();
        }
    }

    pub fn memory(&self) -> usize {
        let texts: usize = self.names.iter().map(|name| 2 * name.text.len()).sum();
        texts
            + self.names.capacity() * size_of::<Name>()
            + self.free.capacity() * size_of::<u32>()
            + self.numbers.capacity() * (size_of::<(Box<str>, u32)>() + 1)
    }
}
