//! What stands behind a `SubjectTrie`: the index of ids, and the Python objects beside it, twice.
//!
//! Readers use one copy while the other changes ([`Sides`]). Whoever holds a lock calls no Python:
//! no object is made, hashed, compared or let go of under it, so no lock is ever waited for while
//! the GIL is needed. What a change lets go of is handed out and dropped later.

use std::cell::Cell;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::opened::Opened;
use crate::trie::{Index, Scratch, Sides, Ticket};

/// The objects of one subscription.
///
/// The value is let go of first: then it is the handle, a Python object, that lets go of it last.
/// Python takes such objects apart without recursion, so an index within an index, however deep,
/// does not exhaust the stack when it goes.
pub struct Kept {
    pub value: Py<PyAny>,
    /// The answer where nothing else matches.
    pub alone: Py<PyTuple>,
    pub handle: Py<PyAny>,
}

/// Which object of a subscription a lookup hands out.
#[derive(Clone, Copy)]
pub enum Part {
    Handle,
    Value,
}

impl Kept {
    pub fn new(value: Bound<'_, PyAny>, handle: Py<PyAny>) -> PyResult<Self> {
        Ok(Self {
            alone: PyTuple::new(value.py(), [&value])?.unbind(),
            value: value.unbind(),
            handle,
        })
    }

    pub fn part(&self, py: Python<'_>, part: Part) -> Py<PyAny> {
        match part {
            Part::Handle => self.handle.clone_ref(py),
            Part::Value => self.value.clone_ref(py),
        }
    }

    pub fn again(&self, py: Python<'_>) -> Self {
        Self {
            value: self.value.clone_ref(py),
            alone: self.alone.clone_ref(py),
            handle: self.handle.clone_ref(py),
        }
    }
}

/// A row ready to go in: checked, its subscription made, its id set aside.
pub struct Row {
    pub id: u64,
    pub pattern: Arc<str>,
    pub queue: Option<Arc<str>>,
    pub turn: u64,
    pub kept: Kept,
}

/// The index and, by slot, the objects.
pub struct State {
    pub index: Index,
    pub kept: Vec<Kept>,
    /// The image that is asked in place of the index, until something is to change.
    pub image: Option<Arc<Opened>>,
}

/// Both copies of a state.
pub type Guarded = Sides<State>;

impl State {
    pub fn new(index: Index) -> Self {
        Self {
            index,
            kept: Vec::new(),
            image: None,
        }
    }

    /// An equal state for the other side.
    pub fn twin(&self, py: Python<'_>) -> Self {
        Self {
            index: self.index.twin(),
            kept: self.kept.iter().map(|kept| kept.again(py)).collect(),
            image: self.image.clone(),
        }
    }

    pub fn get(&self, ticket: Ticket) -> Option<&Kept> {
        self.kept.get(ticket.slot as usize)
    }

    /// The parts of several subscriptions.
    pub fn parts(&self, py: Python<'_>, tickets: &[Ticket], part: Part) -> Vec<Py<PyAny>> {
        let mut parts = Vec::with_capacity(tickets.len());
        self.parts_into(py, tickets, part, &mut parts);
        parts
    }

    pub fn parts_into(
        &self,
        py: Python<'_>,
        tickets: &[Ticket],
        part: Part,
        parts: &mut Vec<Py<PyAny>>,
    ) {
        let kept = tickets.iter().filter_map(|&ticket| self.get(ticket));
        parts.extend(kept.map(|kept| kept.part(py, part)));
    }

    /// Puts rows in. Nothing can fail any more.
    pub fn place(&mut self, py: Python<'_>, rows: &[Row]) {
        let step = rows.len().div_ceil(1024).max(1);
        let sample = rows.iter().step_by(step).map(|row| &*row.pattern);
        self.index.expect(rows.len(), sample);
        if rows.len() > 1 {
            self.kept.reserve_exact(rows.len());
        }
        for row in rows {
            self.index
                .place(row.id, &row.pattern, row.queue.as_deref(), row.turn);
            self.kept.push(row.kept.again(py));
        }
    }

    /// Takes out the subscription with this id if `handle` is its handle.
    pub fn remove(&mut self, id: u64, handle: &Bound<'_, PyAny>) -> Option<Kept> {
        let ticket = self.index.find(id)?;
        if !self.get(ticket)?.handle.is(handle) {
            return None;
        }
        let slot = self.index.remove(id)? as usize;
        let gone = self.kept.swap_remove(slot);
        if self.kept.capacity() > 4 * self.kept.len() {
            self.kept.shrink_to(2 * self.kept.len());
        }
        Some(gone)
    }

    /// Empties the state and hands out what was in it.
    pub fn clear(&mut self) -> (Vec<Kept>, Option<Arc<Opened>>) {
        self.index.clear();
        (std::mem::take(&mut self.kept), self.image.take())
    }
}

/// Makes a change that may leave the state empty. Then both sides count turns together again.
pub fn change<R>(state: &Guarded, mut change: impl FnMut(&mut State) -> R) -> [R; 2] {
    let mut first = None;
    state.write(|state| {
        let result = change(state);
        match &first {
            None => first = Some(state.index.turns()),
            Some(turns) if state.index.is_empty() => state.index.share_turns(turns),
            Some(_) => {}
        }
        result
    })
}

/// Puts a whole other state in place and hands out the old ones.
pub fn replace(py: Python<'_>, state: &Guarded, fresh: State) -> [State; 2] {
    let twin = fresh.twin(py);
    let mut both = [twin, fresh];
    state.write(|state| {
        std::mem::swap(state, &mut both[0]);
        both.swap(0, 1);
    });
    both
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
#[inline]
pub fn at_desk<R>(work: impl FnOnce(&mut Desk) -> R) -> R {
    // A thread that is ending has no desk any more.
    let lent = DESK.try_with(Cell::take);
    let mut desk = lent.ok().flatten().unwrap_or_default();
    desk.tickets.clear();
    let result = work(&mut desk);
    desk.objects.clear();
    if desk.tickets.capacity() <= ROOMY {
        let _ = DESK.try_with(|place| place.set(Some(desk)));
    }
    result
}
