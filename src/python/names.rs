//! `grammar::names` for Python: the report both engines give.
//!
//! `unsafe` stands here for one thing: the report is a named tuple, whose own constructor is Python
//! code that costs more than the check of a name; so the tuple is filled here.
#![allow(unsafe_code)]

use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyString, PyTuple, PyType};

use super::errors::type_error;
use crate::grammar::{self, Level};

/// Is the text a name of this kind? Never raises for what the text holds.
#[pyfunction]
#[pyo3(signature = (text, kind, *, level=None, windows=None))]
#[pyo3(text_signature = "(text, kind, *, level='adr6', windows=False)")]
pub fn check_name<'py>(
    text: &Bound<'py, PyAny>,
    kind: &Bound<'py, PyAny>,
    level: Option<&Bound<'py, PyAny>>,
    windows: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    static REPORT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = text.py();
    let Ok(string) = text.cast::<PyString>() else {
        return Err(type_error(text, "text", "str"));
    };
    let kind_name = named(kind, "kind")?;
    let level_name = match level {
        Some(given) => named(given, "level")?,
        None => "adr6",
    };
    let narrow = match windows {
        None => false,
        Some(given) => match given.cast::<PyBool>() {
            Ok(flag) => flag.is_true(),
            Err(_) => return Err(type_error(given, "windows", "bool")),
        },
    };
    let Some(checked) = Level::from_name(level_name) else {
        if !grammar::is_kind(kind_name) {
            return Err(unknown_kind(kind));
        }
        return Err(PyValueError::new_err(format!(
            "level must be 'adr6', 'go-client' or 'cli', not {}",
            level.map_or_else(
                || Ok(String::new()),
                |given| given.repr().map(|r| r.to_string())
            )?
        )));
    };
    let broken = match string.to_str() {
        Ok(text) => grammar::check_name(text, kind_name, checked, narrow),
        // Whatever kind it is, or is none.
        Err(_) => grammar::check_name("", kind_name, checked, narrow).map(|_| SURROGATE),
    };
    let Ok(broken) = broken else {
        return Err(unknown_kind(kind));
    };
    let none = || py.None().into_bound(py);
    let (rule, reason, position) = match broken {
        None => (none(), none(), none()),
        Some(broken) => (
            PyString::intern(py, broken.rule).into_any(),
            PyString::intern(py, broken.reason).into_any(),
            if broken.reason == "surrogate" {
                first_surrogate(string)?
            } else {
                broken.position.into_pyobject(py)?.into_any()
            },
        ),
    };
    let level = level.map_or_else(
        || pyo3::intern!(py, "adr6").clone().into_any(),
        Clone::clone,
    );
    let windows = PyBool::new(py, narrow).to_owned().into_any();
    let parts = [
        text.clone(),
        kind.clone(),
        level,
        windows,
        rule,
        reason,
        position,
    ];
    let class = REPORT.import(py, "subtrie.names", "NameReport")?;
    made(class.cast::<PyType>()?, parts)
}

/// A tuple of this class, filled as `tuple.__new__(class, parts)` fills it.
fn made<'py>(
    class: &Bound<'py, PyType>,
    parts: [Bound<'py, PyAny>; 7],
) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    if !class.is_subclass_of::<PyTuple>()? {
        return Err(type_error(class, "NameReport", "a tuple"));
    }
    // SAFETY: this is how `tuple` itself makes one of a subclass: room for the items, each then put
    // in while nobody else knows the tuple. `PyTuple_SetItem` takes what it is given, and refuses
    // whatever is no tuple or too short for the item.
    unsafe {
        let size = ffi::Py_ssize_t::try_from(parts.len())?;
        let room = ffi::PyType_GenericAlloc(class.as_type_ptr(), size);
        let tuple = Bound::from_owned_ptr_or_err(py, room)?;
        for (place, part) in (0..).zip(parts) {
            if ffi::PyTuple_SetItem(tuple.as_ptr(), place, part.into_ptr()) != 0 {
                return Err(PyErr::fetch(py));
            }
        }
        Ok(tuple)
    }
}

const SURROGATE: Option<grammar::RuleViolation> = Some(grammar::RuleViolation {
    rule: "any-character",
    reason: "surrogate",
    position: 0,
});

fn named<'a>(given: &'a Bound<'_, PyAny>, name: &str) -> PyResult<&'a str> {
    match given.cast::<PyString>() {
        // A lone surrogate is in no kind's name: let the table refuse it.
        Ok(text) => Ok(text.to_str().unwrap_or("\u{fffd}")),
        Err(_) => Err(type_error(given, name, "str")),
    }
}

fn unknown_kind(kind: &Bound<'_, PyAny>) -> PyErr {
    let build = || -> PyResult<String> {
        let kinds = kind.py().import("subtrie.names")?.getattr("KINDS")?;
        let known = PyString::new(kind.py(), ", ").call_method1("join", (kinds,))?;
        Ok(format!("kind {} is not one of {known}", kind.repr()?))
    };
    match build() {
        Ok(message) => PyValueError::new_err(message),
        Err(error) => error,
    }
}

/// Where UTF-8 fails, counted in the bytes before it.
fn first_surrogate<'py>(text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
    text.py()
        .import("subtrie._errors")?
        .getattr("first_surrogate")?
        .call1((text,))
}
