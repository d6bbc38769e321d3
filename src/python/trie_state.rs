//! What stands behind a `SubjectTrie`: the index of ids, and the Python objects beside it.
//!
//! One lock guards both. Whoever holds it calls no Python: no object is made, hashed, compared or
//! let go of under it, so no lock is ever waited for while the GIL is needed, and a fork never
//! copies a lock that a thread without the GIL holds. What a change lets go of is handed out and
//! dropped later.

use std::cell::Cell;
use std::sync::{Arc, PoisonError, RwLock};

use pyo3::prelude::*;

use crate::error::Error;
use crate::trie::{Index, Scratch, Ticket};

/// The objects of one subscription.
///
/// The value is let go of first: then it is the handle, a Python object, that lets go of it last.
/// Python takes such objects apart without recursion, so an index within an index, however deep,
/// does not exhaust the stack when it goes.
pub struct Kept {
    pub value: Py<PyAny>,
    pub handle: Py<PyAny>,
}

/// Which object of a subscription a lookup hands out.
#[derive(Clone, Copy)]
pub enum Part {
    Handle,
    Value,
}

impl Kept {
    pub fn part(&self, py: Python<'_>, part: Part) -> Py<PyAny> {
        match part {
            Part::Handle => self.handle.clone_ref(py),
            Part::Value => self.value.clone_ref(py),
        }
    }
}

/// A row ready to go in: checked, its subscription made, its id set aside.
pub struct Row {
    pub id: u64,
    pub pattern: String,
    pub queue: Option<String>,
    pub turn: u64,
    pub kept: Kept,
}

/// The index and, by slot, the objects. A batch shares both; a change then copies them first.
pub struct State {
    pub index: Arc<Index>,
    pub kept: Arc<Vec<Option<Kept>>>,
}

/// The same objects once more.
pub fn copied(py: Python<'_>, kept: &[Option<Kept>]) -> Vec<Option<Kept>> {
    let copy = |kept: &Kept| Kept {
        handle: kept.handle.clone_ref(py),
        value: kept.value.clone_ref(py),
    };
    kept.iter().map(|kept| kept.as_ref().map(copy)).collect()
}

impl State {
    pub fn new(index: Index) -> Self {
        Self {
            index: Arc::new(index),
            kept: Arc::default(),
        }
    }

    pub fn get(&self, ticket: Ticket) -> Option<&Kept> {
        self.kept.get(ticket.slot as usize)?.as_ref()
    }

    /// The parts of several subscriptions.
    pub fn parts(&self, py: Python<'_>, tickets: &[Ticket], part: Part) -> Vec<Py<PyAny>> {
        let mut parts = Vec::with_capacity(tickets.len());
        self.parts_into(py, tickets, part, &mut parts);
        parts
    }

    fn parts_into(
        &self,
        py: Python<'_>,
        tickets: &[Ticket],
        part: Part,
        parts: &mut Vec<Py<PyAny>>,
    ) {
        let kept = tickets.iter().filter_map(|&ticket| self.get(ticket));
        parts.extend(kept.map(|kept| kept.part(py, part)));
    }

    pub fn reserve(&mut self, count: usize, tokens: usize) -> Result<u64, Error> {
        Arc::make_mut(&mut self.index).reserve(count, tokens)
    }

    pub fn set_next_id(&mut self, next: u64) {
        Arc::make_mut(&mut self.index).set_next_id(next);
    }

    /// Puts rows in. Nothing can fail any more.
    pub fn place(&mut self, py: Python<'_>, rows: Vec<Row>) {
        let index = Arc::make_mut(&mut self.index);
        let all = own(py, &mut self.kept);
        for row in rows {
            let ticket = index.place(row.id, &row.pattern, row.queue.as_deref(), row.turn);
            let slot = ticket.slot as usize;
            if slot >= all.len() {
                all.resize_with(slot + 1, || None);
            }
            all[slot] = Some(row.kept);
        }
    }

    /// Takes out the subscription with this id if `handle` is its handle.
    pub fn remove(&mut self, id: u64, handle: &Bound<'_, PyAny>) -> Option<Kept> {
        let ticket = self.index.find(id)?;
        if !self.get(ticket)?.handle.is(handle) {
            return None;
        }
        let index = Arc::make_mut(&mut self.index);
        let slot = index.remove(id)? as usize;
        let all = own(handle.py(), &mut self.kept);
        let gone = all.get_mut(slot)?.take();
        if let Some(order) = index.compact() {
            let mut old = std::mem::take(all);
            *all = order
                .into_iter()
                .map(|slot| old.get_mut(slot as usize).and_then(Option::take))
                .collect();
        }
        gone
    }

    /// Empties the state and hands out what was in it.
    pub fn clear(&mut self) -> Arc<Vec<Option<Kept>>> {
        Arc::make_mut(&mut self.index).clear();
        std::mem::take(&mut self.kept)
    }
}

/// The objects for a change: copied first where a batch still looks at them.
fn own<'a>(py: Python<'_>, kept: &'a mut Arc<Vec<Option<Kept>>>) -> &'a mut Vec<Option<Kept>> {
    if Arc::get_mut(kept).is_none() {
        // The batch lets go of its objects itself, and never under the lock.
        *kept = Arc::new(copied(py, kept));
    }
    Arc::get_mut(kept).unwrap_or_else(|| unreachable!("nobody else has seen it"))
}

/// The lock around a state. A panic under it leaves nothing half done that a reader could trip over.
pub struct Guarded(RwLock<State>);

impl Guarded {
    pub const fn new(state: State) -> Self {
        Self(RwLock::new(state))
    }

    pub fn read<R>(&self, read: impl FnOnce(&State) -> R) -> R {
        read(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn write<R>(&self, write: impl FnOnce(&mut State) -> R) -> R {
        write(&mut self.0.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads unless a writer is at work: for the garbage collector, which must not wait.
    pub fn try_read<R>(&self, read: impl FnOnce(&State) -> R) -> Option<R> {
        match self.0.try_read() {
            Ok(state) => Some(read(&state)),
            Err(std::sync::TryLockError::Poisoned(state)) => Some(read(&state.into_inner())),
            Err(std::sync::TryLockError::WouldBlock) => None,
        }
    }
}

/// Room for one lookup of a thread, so that a lookup allocates nothing but its result.
#[derive(Default)]
pub struct Desk {
    pub scratch: Scratch,
    pub tickets: Vec<Ticket>,
    pub objects: Vec<Py<PyAny>>,
}

thread_local! {
    static DESK: Cell<Option<Box<Desk>>> = const { Cell::new(None) };
}

/// Results longer than this do not keep their room.
const ROOMY: usize = 4096;

/// Lends the thread's desk. Python may run in `work`: who asks again meanwhile gets a new desk.
pub fn at_desk<R>(work: impl FnOnce(&mut Desk) -> R) -> R {
    // A thread that is ending has no desk any more.
    let lent = DESK.try_with(Cell::take);
    let mut desk = lent.ok().flatten().unwrap_or_default();
    let result = work(&mut desk);
    desk.tickets.clear();
    desk.objects.clear();
    if desk.tickets.capacity() <= ROOMY {
        let _ = DESK.try_with(|place| place.set(Some(desk)));
    }
    result
}

/// A lookup of the index that fills in tickets.
pub type Lookup = fn(&Index, &str, &mut Scratch, &mut Vec<Ticket>) -> Result<(), Error>;

impl Desk {
    /// Runs a lookup and gathers the objects it found.
    pub fn look_up(
        &mut self,
        py: Python<'_>,
        state: &Guarded,
        subject: &str,
        lookup: Lookup,
        part: Part,
    ) -> Result<(), Error> {
        state.read(|state| {
            lookup(&state.index, subject, &mut self.scratch, &mut self.tickets)?;
            state.parts_into(py, &self.tickets, part, &mut self.objects);
            Ok(())
        })
    }
}
