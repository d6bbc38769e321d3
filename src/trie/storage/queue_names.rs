//! An interner: each queue name is stored once, counted by its members, and identified by a number.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::to_u32;

/// The number of an interned queue name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub(crate) struct QueueId(pub u32);

impl QueueId {
    /// No queue: the subscription is not a member of a group.
    pub const NONE: Self = Self(u32::MAX);
}

/// The queue names in use.
#[derive(Clone, Default)]
pub(crate) struct QueueNames {
    names: Vec<Name>,
    ids: HashMap<Box<str>, QueueId, RandomState>,
    free: Vec<QueueId>,
}

/// A name and how many subscriptions have it.
#[derive(Clone, Default)]
struct Name {
    text: Box<str>,
    members: u32,
}

impl QueueNames {
    /// The number of names in use.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// The name with this number.
    pub fn name(&self, id: QueueId) -> Option<&str> {
        self.names.get(id.0 as usize).map(|name| &*name.text)
    }

    /// The number of a name, with one more member; [`QueueId::NONE`] without a name.
    pub fn acquire(&mut self, name: Option<&str>) -> QueueId {
        let Some(name) = name else {
            return QueueId::NONE;
        };
        if let Some(&id) = self.ids.get(name) {
            self.names[id.0 as usize].members += 1;
            return id;
        }
        let id = self.free.pop().unwrap_or_else(|| {
            self.names.push(Name::default());
            QueueId(to_u32(self.names.len() - 1)) // no more names than slots
        });
        self.names[id.0 as usize] = Name {
            text: name.into(),
            members: 1,
        };
        self.ids.insert(name.into(), id);
        id
    }

    /// Counts one member less; the last one frees the name.
    pub fn release(&mut self, id: QueueId) {
        let Some(name) = self.names.get_mut(id.0 as usize) else {
            return;
        };
        name.members -= 1;
        if name.members > 0 {
            return;
        }
        let text = std::mem::take(&mut name.text);
        self.ids.remove(&text);
        self.free.push(id);
        if self.ids.capacity() > 8 * self.ids.len() + 16 {
            self.ids.shrink_to(2 * self.ids.len());
        }
        if self.ids.is_empty() {
            *self = Self::default();
        }
    }

    /// Memory in bytes.
    pub fn memory(&self) -> usize {
        let texts: usize = self.names.iter().map(|name| 2 * name.text.len()).sum();
        texts
            + self.names.capacity() * size_of::<Name>()
            + self.free.capacity() * size_of::<QueueId>()
            + self.ids.capacity() * (size_of::<(Box<str>, QueueId)>() + 1)
    }
}
