//! The models.

use std::panic::{AssertUnwindSafe, catch_unwind};

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::gil::{Python, attach, fork};
use crate::shared_state::{Refused, SharedState};

/// Two parts that only a change in progress makes different. Loom fails if one of them is read during
/// a change of it.
struct Parts {
    one: UnsafeCell<u32>,
    other: UnsafeCell<u32>,
}

// SAFETY: loom checks every access, and fails on one that is not ordered.
unsafe impl Sync for Parts {}

impl Parts {
    fn read(&self) -> u32 {
        // SAFETY: loom checks both accesses.
        let one = self.one.with(|at| unsafe { *at });
        let other = self.other.with(|at| unsafe { *at });
        assert_eq!(one, other, "half of a change is seen");
        one
    }

    fn add(&self) {
        // SAFETY: loom checks both accesses.
        self.one.with_mut(|at| unsafe { *at += 1 });
        self.other.with_mut(|at| unsafe { *at += 1 });
    }
}

#[derive(Clone)]
struct Model(Arc<SharedState<Parts>>);

impl Model {
    fn start() -> Self {
        let parts = Parts {
            one: UnsafeCell::new(0),
            other: UnsafeCell::new(0),
        };
        Self(Arc::new(SharedState::new(parts)))
    }

    fn spawn(&self, work: impl FnOnce(&Self) + 'static) -> thread::JoinHandle<()> {
        let model = self.clone();
        thread::spawn(move || work(&model))
    }

    fn change(&self) {
        attach(|py| self.change_attached(py));
    }

    fn change_attached(&self, py: Python<'_>) {
        self.0.write(py, |parts| parts.add()).unwrap();
    }

    /// Read as a lookup of one subject does.
    fn look_up(&self) -> u32 {
        attach(|py| self.0.read(py, Parts::read).unwrap())
    }

    /// Read as a chunk of a batch does.
    fn read_chunk(&self) -> u32 {
        self.0.read_detached(Parts::read).unwrap()
    }
}

/// So often may a thread be interrupted, besides where it waits. Three show every fault that was put in
/// on purpose; each one more takes about ten times as long.
const INTERRUPTIONS: usize = 3;

/// Run `model` once for every order of its steps.
fn every_order(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(INTERRUPTIONS);
    builder.check(model);
}

#[test]
fn a_lookup_and_a_batch_see_whole_changes() {
    every_order(|| {
        let model = Model::start();
        let writer = model.spawn(Model::change);
        let batch = model.spawn(|model| assert!(model.read_chunk() <= 1));
        assert!(model.look_up() <= 1);
        writer.join().unwrap();
        batch.join().unwrap();
        assert_eq!(model.look_up(), 1);
    });
}

#[test]
fn two_writers_beside_a_batch_lose_no_change() {
    every_order(|| {
        let model = Model::start();
        let writer = model.spawn(Model::change);
        let batch = model.spawn(|model| assert!(model.read_chunk() <= 2));
        model.change();
        writer.join().unwrap();
        batch.join().unwrap();
        assert_eq!(model.look_up(), 2);
    });
}

#[test]
fn two_reads_with_one_number_of_changes_see_one_state() {
    every_order(|| {
        let model = Model::start();
        let writer = model.spawn(Model::change);
        let before = model.0.changes();
        let (first, second) = (model.read_chunk(), model.read_chunk());
        let after = model.0.changes();
        assert!(first <= second);
        assert!(before != after || first == second);
        writer.join().unwrap();
    });
}

#[test]
fn a_fork_finds_no_lock_held() {
    every_order(|| {
        let model = Model::start();
        let batch = model.spawn(|model| assert!(model.read_chunk() <= 2));
        let writer = model.spawn(Model::change);
        attach(|py| {
            fork(py, || {
                // The child goes on with this thread only: a lock that another one holds stays held.
                let waits = py.waits();
                model.change_attached(py);
                assert_eq!(py.waits(), waits, "a lock is held at the fork");
            });
        });
        writer.join().unwrap();
        batch.join().unwrap();
        assert_eq!(model.look_up(), 2);
    });
}

/// A change that panics between its two parts: no reader sees half of it, before or after.
#[test]
fn a_change_that_panics_poisons_the_state_until_it_is_replaced() {
    every_order(|| {
        let model = Model::start();
        let batch = model.spawn(|model| {
            let seen = model.0.read_detached(Parts::read);
            assert!(matches!(seen, Ok(0 | 5) | Err(Refused::Poisoned)));
        });
        attach(|py| {
            let half = |parts: &mut Parts| {
                // SAFETY: loom checks the access.
                parts.one.with_mut(|at| unsafe { *at += 1 });
                std::panic::resume_unwind(Box::new("half of a change"));
            };
            let change = AssertUnwindSafe(|| model.0.write(py, half));
            assert!(catch_unwind(change).is_err());
            assert_eq!(model.0.read(py, Parts::read), Err(Refused::Poisoned));
            assert_eq!(model.0.write(py, |_| ()), Err(Refused::Poisoned));
            let replaced = model.0.replace(py, |parts, is_poisoned| {
                // SAFETY: loom checks both accesses.
                parts.one.with_mut(|at| unsafe { *at = 5 });
                parts.other.with_mut(|at| unsafe { *at = 5 });
                is_poisoned
            });
            assert_eq!(replaced, Ok(true));
            assert_eq!(model.0.read(py, Parts::read), Ok(5));
        });
        batch.join().unwrap();
    });
}

#[test]
fn a_change_during_a_read_is_refused() {
    every_order(|| {
        let model = Model::start();
        attach(|py| {
            let inner = model.0.read(py, |_| model.0.write(py, |_| ()));
            assert_eq!(inner, Ok(Err(Refused::InUse)));
            let inner = model.0.write(py, |_| model.0.read(py, |_| ()));
            assert_eq!(inner, Ok(Err(Refused::InUse)));
            assert_eq!(model.0.replace(py, |_, is_poisoned| is_poisoned), Ok(false));
        });
    });
}
