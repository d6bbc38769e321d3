//! The handle of a subscription: immutable, with a `Pattern` that is made when it is asked for.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple};

use super::shared_names::shared;
use crate::slots::SlottedClass;
use subtrie::grammar::Dialect;

/// A pattern, its value, and the queue group of which the value is a member, if any.
///
/// Immutable, and equal only to itself.
#[pyclass(frozen, module = "subtrie", weakref)]
pub struct Subscription(OnceLock<Fields>);

/// The parts of a subscription.
pub struct Fields {
    pub id: u64,
    /// The text of the pattern, an exact `str`; the `Pattern` itself once it was asked for.
    pub pattern: Mutex<Py<PyString>>,
    pub dialect: Dialect,
    /// The value, in the tuple that a lookup returns. A tuple is freed without recursion, whatever
    /// its value leads to.
    pub single: Py<PyTuple>,
    pub queue: Option<Py<PyString>>,
}

/// The text itself: an exact `str`, as a subclass may have other methods.
pub fn exact_text(text: &Bound<'_, PyString>) -> PyResult<Py<PyString>> {
    if text.is_exact_instance_of::<PyString>() {
        return Ok(text.clone().unbind());
    }
    Ok(PyString::new(text.py(), text.to_str()?).unbind())
}

/// Make a `Pattern` of valid text.
pub fn pattern_of<'py>(
    py: Python<'py>,
    text: &str,
    dialect: Dialect,
) -> PyResult<Bound<'py, PyString>> {
    static CLASS: PyOnceLock<SlottedClass<1>> = PyOnceLock::new();
    let import = || SlottedClass::import(py, "subtrie._core.subject", "Pattern", ["_dialect"]);
    let class = CLASS.get_or_try_init(py, import)?;
    let dialect = PyString::intern(py, dialect.name()).into_any();
    Ok(class.create_str(py, text, [dialect])?.cast_into()?)
}

impl Fields {
    /// No Python code runs while the lock is held.
    fn text_or_pattern(&self) -> MutexGuard<'_, Py<PyString>> {
        self.pattern.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pattern<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let text = self.text_or_pattern().clone_ref(py).into_bound(py);
        if !text.is_exact_instance_of::<PyString>() {
            return Ok(text);
        }
        let made = pattern_of(py, text.to_str()?, self.dialect)?;
        let mut own = self.text_or_pattern();
        // Another thread may have made it meanwhile.
        if own.bind(py).is(&text) {
            *own = made.unbind();
        }
        Ok(own.bind(py).clone())
    }

    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.single.bind(py).get_item(0)
    }
}

impl Subscription {
    pub fn create(py: Python<'_>, fields: Fields) -> PyResult<Py<Self>> {
        Py::new(py, Self(OnceLock::from(fields)))
    }

    /// The id; `None` while it is unpickled.
    pub fn id_if_set(&self) -> Option<u64> {
        self.0.get().map(|fields| fields.id)
    }

    fn fields(&self, name: &str) -> PyResult<&Fields> {
        let unset = || PyAttributeError::new_err(format!("{name} is not set yet"));
        self.0.get().ok_or_else(unset)
    }
}

/// Return a subscription without attributes, which unpickling fills.
#[pyfunction]
pub fn blank_subscription(py: Python<'_>) -> PyResult<Py<Subscription>> {
    Py::new(py, Subscription(OnceLock::new()))
}

#[pymethods]
impl Subscription {
    #[new]
    #[pyo3(signature = (*_args, **_keywords), text_signature = "()")]
    fn new(_args: &Bound<'_, PyTuple>, _keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Err(PyTypeError::new_err(
            "a Subscription is created by SubjectTrie.add",
        ))
    }

    /// The pattern.
    #[getter]
    fn pattern<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.fields("pattern")?.pattern(py)
    }

    /// The value that was added.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.fields("value")?.value(py)
    }

    /// The name of the queue group, or None.
    #[getter]
    fn queue<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        let queue = self.fields("queue")?.queue.as_ref();
        Ok(queue.map(|queue| queue.bind(py).clone()))
    }

    /// The number that the index assigned.
    #[getter]
    fn id(&self) -> PyResult<u64> {
        Ok(self.fields("id")?.id)
    }

    #[expect(clippy::unused_self, reason = "a slot of the type")]
    fn __setattr__(&self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = value;
        Err(PyAttributeError::new_err(format!(
            "a subscription is immutable: '{name}' cannot be set"
        )))
    }

    #[expect(clippy::unused_self, reason = "a slot of the type")]
    fn __delattr__(&self, name: &str) -> PyResult<()> {
        Err(PyAttributeError::new_err(format!(
            "a subscription is immutable: '{name}' cannot be deleted"
        )))
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shared!(slf.py(), "subscription_text")?.call1((slf,))
    }

    // The value may refer to this subscription, so it is pickled as state, not as an argument.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let fields = self.fields("id")?;
        let queue = fields.queue.as_ref();
        let state = (fields.pattern(py)?, fields.value(py)?, queue, fields.id);
        let blank = shared!(py, "blank_subscription")?;
        (blank, PyTuple::empty(py), state).into_pyobject(py)
    }

    fn __setstate__(&self, state: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = state.py();
        if self.0.get().is_some() {
            return Err(PyAttributeError::new_err("a subscription is immutable"));
        }
        let checked = shared!(py, "subscription_state")?.call1((state,))?;
        let (pattern, value, queue, id): (
            Bound<'_, PyString>,
            Bound<'_, PyAny>,
            Option<Bound<'_, PyString>>,
            u64,
        ) = checked.extract()?;
        let dialect: String = pattern.getattr("dialect")?.extract()?;
        let invalid = || PyValueError::new_err("not the state of a Subscription");
        let fields = Fields {
            id,
            dialect: Dialect::from_name(&dialect).ok_or_else(invalid)?,
            pattern: Mutex::new(pattern.unbind()),
            single: PyTuple::new(py, [value])?.unbind(),
            queue: queue.map(Bound::unbind),
        };
        let set = self.0.set(fields);
        set.map_err(|_| PyAttributeError::new_err("a subscription is immutable"))
    }

    fn __deepcopy__<'py>(
        slf: &Bound<'py, Self>,
        memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let blank = Bound::new(slf.py(), Self(OnceLock::new()))?;
        shared!(slf.py(), "deep_copied")?.call1((slf, memo, blank))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.0.get() {
            Some(fields) => visit.call(&fields.single),
            None => Ok(()),
        }
    }
}
