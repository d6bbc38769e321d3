//! The state of a `SubjectTrie`: the index and, by slot, the Python objects.
//!
//! Objects that a change removes are returned and dropped later, because no Python code may run
//! during a change ([`super::shared_state`]).

use std::sync::{Arc, OnceLock};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::image::OpenedImage;
use super::retained_values::{RetainedValues, value_in};
use super::shared_handles::SharedHandles;
use super::shared_state::Refused;
use super::subscription::Subscription;
use subtrie::raw::{Groups, Index, LookupTarget, SubscriptionRef};

/// A handle that is made when it is asked for.
pub type HandleCell = OnceLock<Py<Subscription>>;

/// A handle, or what it is made of.
pub enum Handle {
    Made(Py<Subscription>),
    ToMake(Parts),
}

/// The parts of a handle that is to be made.
pub struct Parts {
    pub id: u64,
    /// The number of the pattern if other subscriptions have it as well.
    pub shared_pattern: Option<u32>,
    pub pattern: String,
    pub single: Py<PyTuple>,
    pub queue: Option<String>,
}

/// The objects of a subscription that was removed, to be dropped without a lock.
pub type Removed = (Py<PyTuple>, Option<Py<Subscription>>);

/// Values without a queue, and those of each queue group with its name.
type GroupValues = (Vec<Py<PyAny>>, Vec<(String, Vec<Py<PyAny>>)>);

impl From<Refused> for PyErr {
    #[cold]
    fn from(refused: Refused) -> Self {
        PyRuntimeError::new_err(match refused {
            Refused::Poisoned => {
                "a change of this index failed half-way, which is a bug of subtrie: clear() makes it \
                 usable again, without subscriptions"
            }
            Refused::InUse => "the index is used while it is being changed",
        })
    }
}

/// The index and, by slot, the objects.
pub struct State {
    pub index: Index,
    /// The results of lookups that find one subscription: tuples of its value, by slot. They are in
    /// a vector of their own, so that eight of them share a cache line.
    pub singles: Vec<Py<PyTuple>>,
    /// By slot.
    pub handles: Vec<HandleCell>,
    /// Handles that copies of the index make as well, by ascending ids.
    pub shared_handles: Vec<Arc<SharedHandles>>,
    /// The image that subjects are looked up in instead, until the first change.
    pub image: Option<Arc<OpenedImage>>,
}

impl State {
    pub fn new(index: Index) -> Self {
        Self {
            index,
            singles: Vec::new(),
            handles: Vec::new(),
            shared_handles: Vec::new(),
            image: None,
        }
    }

    /// Calls `read` with what subjects are looked up in.
    #[inline]
    pub fn with_target<R>(&self, read: impl FnOnce(LookupTarget<'_>) -> R) -> R {
        match &self.image {
            None => read(LookupTarget::Index(&self.index)),
            Some(image) => image.read(|image| read(LookupTarget::Image(image))),
        }
    }

    /// An independent state with the same objects.
    pub fn copy(&self, py: Python<'_>) -> Self {
        let handle = |cell: &HandleCell| {
            let handle = cell.get().map(|handle| handle.clone_ref(py));
            handle.map_or_else(OnceLock::new, OnceLock::from)
        };
        Self {
            index: self.index.clone(),
            singles: self.singles.iter().map(|one| one.clone_ref(py)).collect(),
            handles: self.handles.iter().map(handle).collect(),
            shared_handles: self.shared_handles.clone(),
            image: self.image.clone(),
        }
    }

    /// The result of a lookup that finds this subscription only.
    #[inline]
    pub fn single(&self, found: SubscriptionRef) -> Option<&Py<PyTuple>> {
        self.singles.get(found.slot.index())
    }

    /// The values of several subscriptions that were just found.
    pub fn values(
        &self,
        py: Python<'_>,
        found: &[SubscriptionRef],
    ) -> impl Iterator<Item = Py<PyAny>> {
        let value = move |&found: &SubscriptionRef| value_in(py, self.single(found)?);
        found.iter().filter_map(value).map(Bound::unbind)
    }

    /// The values without a queue, and those of each queue group with its name.
    pub fn group_values(&self, py: Python<'_>, groups: &Groups) -> GroupValues {
        let of_queue = |members: &Vec<SubscriptionRef>| {
            let name = members.first().and_then(|&oldest| self.index.queue(oldest));
            let values = self.values(py, members).collect();
            (name.unwrap_or_default().to_owned(), values)
        };
        let plain = self.values(py, &groups.plain).collect();
        (plain, groups.queues.iter().map(of_queue).collect())
    }

    /// The cell that caches the handle of a subscription.
    pub fn handle_cell(&self, id: u64) -> Option<&HandleCell> {
        self.handles.get(self.index.find(id)?.slot.index())
    }

    /// Lets a copy have the same handles, also those that are not made yet.
    pub fn share_handles(&mut self) {
        // Handles that no copy shares any more are in the cells of this index.
        while self
            .shared_handles
            .last()
            .is_some_and(|last| Arc::strong_count(last) == 1)
        {
            self.shared_handles.pop();
        }
        let ids = self.shared_handles.last().map_or(0, |last| last.ids.end)..self.index.next_id();
        let all_made = self.handles.iter().all(|cell| cell.get().is_some());
        if !all_made && !ids.is_empty() {
            self.shared_handles.push(Arc::new(SharedHandles::new(ids)));
        }
    }

    /// The handles that copies share with the subscription of this id.
    pub fn shared_handles(&self, id: u64) -> Option<&Arc<SharedHandles>> {
        let place = self
            .shared_handles
            .partition_point(|shared| shared.ids.end <= id);
        self.shared_handles
            .get(place)
            .filter(|shared| shared.ids.contains(&id))
    }

    /// Whether this is the handle of the subscription with its id.
    pub fn is_handle(&self, py: Python<'_>, id: u64, handle: &Bound<'_, PyAny>) -> bool {
        let Some(cell) = self.handle_cell(id) else {
            return false;
        };
        if let Some(own) = cell.get() {
            return own.is(handle);
        }
        let shared = self.shared_handles(id);
        let own = shared.and_then(|shared| shared.get(py, id));
        own.is_some_and(|own| own.is(handle))
    }

    /// The handles of several subscriptions that were just found, as far as they are made.
    pub fn handles(&self, py: Python<'_>, found: &[SubscriptionRef]) -> Vec<Handle> {
        let handle = |&found: &SubscriptionRef| {
            if let Some(handle) = self.handles.get(found.slot.index())?.get() {
                return Some(Handle::Made(handle.clone_ref(py)));
            }
            Some(Handle::ToMake(Parts {
                id: found.id,
                shared_pattern: self.index.shared_pattern(found),
                pattern: self.index.pattern(found)?,
                single: self.single(found)?.clone_ref(py),
                queue: self.index.queue(found).map(Into::into),
            }))
        };
        found.iter().filter_map(handle).collect()
    }

    /// Inserts patterns in ascending id, with as many tuples and handles. `row` gives the id of
    /// each, its queue, and the turns of the group that it leads. Cannot fail.
    pub fn insert<'a>(
        &mut self,
        patterns: &[&str],
        row: impl Fn(usize) -> (u64, Option<&'a str>, u64),
        singles: Vec<Py<PyTuple>>,
        handles: impl Iterator<Item = HandleCell>,
    ) {
        let count = singles.len();
        if count > 1 {
            self.singles.reserve_exact(count);
            self.handles.reserve_exact(count);
        }
        self.index.insert_all(patterns, row);
        self.singles.extend(singles);
        self.handles.extend(handles.take(count));
    }

    /// Removes the subscription with this id if `handle` is its handle. Its value is `retained`.
    pub fn remove(
        &mut self,
        id: u64,
        handle: &Bound<'_, Subscription>,
        retained: &RetainedValues,
    ) -> Option<Removed> {
        let py = handle.py();
        if !self.is_handle(py, id, handle) {
            return None;
        }
        let slot = self.index.remove(id)?.index();
        let single = self.singles.swap_remove(slot);
        retained.retain(py, [(id, &single)]);
        let removed = self.handles.swap_remove(slot);
        if self.singles.capacity() > 4 * self.singles.len() {
            self.singles.shrink_to(2 * self.singles.len());
            self.handles.shrink_to(2 * self.handles.len());
        }
        Some((single, removed.into_inner()))
    }

    /// Retains the values of all subscriptions of the index. Those of an image are kept by the results
    /// themselves.
    pub fn retain_all(&self, py: Python<'_>, retained: &RetainedValues) {
        if retained.has_results() {
            let found = self.index.subscriptions().into_iter();
            let removed = found.filter_map(|found| Some((found.id, self.single(found)?)));
            retained.retain(py, removed);
        }
    }
}
