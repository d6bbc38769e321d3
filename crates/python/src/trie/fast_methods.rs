//! Entries for the methods that are called most, which replace those of `#[pymethods]` in the type.
//!
//! Contains `unsafe` code: a method descriptor is made by hand with the stable ABI. It handles the
//! usual call, one positional `str`, and calls the method of `#[pymethods]` for all else: keywords,
//! other types, panics. So the two have one meaning, and a call without any of these costs about 20 ns
//! less. An entry that takes no keywords would save one nanosecond more.
#![allow(unsafe_code)]

use std::ffi::{CString, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyString, PyTuple};

use super::subject_trie::SubjectTrie;

/// A method: its name, its place in `ORIGINALS`, and the entry.
type MethodEntry = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    ffi::Py_ssize_t,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

const ENTRIES: [(&str, MethodEntry); 4] = [
    ("match", match_),
    ("select", select),
    ("count", count),
    ("has_interest", has_interest),
];

/// The methods of `#[pymethods]`, in the order of `ENTRIES`.
static ORIGINALS: [PyOnceLock<Py<PyAny>>; 4] = [const { PyOnceLock::new() }; 4];

/// Puts the entries into the type.
pub fn register(py: Python<'_>) -> PyResult<()> {
    let class = py.get_type::<SubjectTrie>();
    for ((name, entry), original) in ENTRIES.into_iter().zip(&ORIGINALS) {
        let method = class.getattr(name)?;
        let signature: String = method.getattr("__text_signature__")?.extract()?;
        let doc: String = method.getattr("__doc__")?.extract()?;
        // The definition has to outlive the type, which is never freed.
        let text = CString::new(format!("{name}{signature}\n--\n\n{doc}"))?.into_raw();
        let definition = Box::leak(Box::new(ffi::PyMethodDef {
            ml_name: CString::new(name)?.into_raw(),
            ml_meth: ffi::PyMethodDefPointer {
                PyCFunctionFastWithKeywords: entry,
            },
            ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS as c_int,
            ml_doc: text,
        }));
        // SAFETY: type and definition are alive; null is an exception that is set.
        let descriptor = unsafe {
            let made = ffi::PyDescr_NewMethod(class.as_ptr().cast(), definition);
            Bound::from_owned_ptr_or_err(py, made)?
        };
        original.get_or_init(py, || method.unbind());
        class.setattr(name, descriptor)?;
    }
    Ok(())
}

/// Answers the usual call by `look_up`, which returns a new reference; all else by the original
/// method.
///
/// # Safety
///
/// Called by the interpreter, with the arguments of a vector call.
#[inline]
unsafe fn call(
    method: usize,
    slf: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
    look_up: impl Fn(Python<'_>, &SubjectTrie, &str) -> PyResult<*mut ffi::PyObject>,
) -> *mut ffi::PyObject {
    if count == 1 && names.is_null() {
        // A panic must not leave the function; the original method panics again and reports it.
        let found = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the interpreter holds the GIL, the argument is alive during the call, and the
            // descriptor has checked the class of `slf`.
            let (py, trie, subject) = unsafe {
                let py = Python::assume_attached();
                let slf = Borrowed::from_ptr(py, slf);
                (
                    py,
                    slf.cast_unchecked::<SubjectTrie>(),
                    Borrowed::from_ptr(py, *args),
                )
            };
            // The type itself costs no call; a subclass, such as `Subject`, is one by its flags. For
            // another type or a lone surrogate the original method raises its own exception.
            let subject = match subject.cast_exact::<PyString>() {
                Ok(exact) => exact,
                Err(_) => subject.cast::<PyString>().ok()?,
            };
            let text = subject.to_str().ok()?;
            Some(look_up(py, trie.get(), text).unwrap_or_else(|error| {
                error.restore(py);
                ptr::null_mut()
            }))
        }));
        if let Ok(Some(found)) = found {
            return found;
        }
    }
    // SAFETY: as the caller.
    unsafe { call_original(method, slf, args, count, names) }
}

/// # Safety
///
/// As [`call`].
#[cold]
#[inline(never)]
unsafe fn call_original(
    method: usize,
    slf: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    Python::attach(|py| {
        let call = || -> PyResult<Py<PyAny>> {
            let count = count.unsigned_abs();
            // SAFETY: a vector call has `count` positional arguments, then those of `names`.
            let argument = |at: usize| unsafe { Bound::from_borrowed_ptr(py, *args.add(at)) };
            // SAFETY: alive during the call.
            let slf = unsafe { Bound::from_borrowed_ptr(py, slf) };
            let given = std::iter::once(slf).chain((0..count).map(argument));
            let given = PyTuple::new(py, given.collect::<Vec<_>>())?;
            // SAFETY: null or a tuple of names.
            let names = unsafe { Bound::from_borrowed_ptr_or_opt(py, names) };
            let keywords = PyDict::new(py);
            for (at, name) in names
                .iter()
                .flat_map(PyAnyMethods::try_iter)
                .flatten()
                .enumerate()
            {
                keywords.set_item(name?, argument(count + at))?;
            }
            let original = ORIGINALS[method].get(py);
            let original = original
                .ok_or_else(|| pyo3::exceptions::PyRuntimeError::new_err("not registered"))?;
            original.call(py, given, Some(&keywords))
        };
        match call() {
            Ok(found) => found.into_ptr(),
            Err(error) => {
                error.restore(py);
                ptr::null_mut()
            }
        }
    })
}

/// Defines the entry of a method by its place in `ORIGINALS` and its answer to the usual call.
macro_rules! entry {
    ($name:ident, $method:literal, $look_up:expr) => {
        unsafe extern "C" fn $name(
            slf: *mut ffi::PyObject,
            args: *const *mut ffi::PyObject,
            count: ffi::Py_ssize_t,
            names: *mut ffi::PyObject,
        ) -> *mut ffi::PyObject {
            // SAFETY: called by the interpreter.
            unsafe { call($method, slf, args, count, names, $look_up) }
        }
    };
}

entry!(match_, 0, |py, trie, text| {
    trie.matched(py, text).map(Bound::into_ptr)
});
entry!(select, 1, |py, trie, text| {
    trie.selected(py, text).map(Bound::into_ptr)
});
entry!(count, 2, |py, trie, text| {
    let count = trie.counted(py, text)?.into_pyobject(py)?;
    Ok(count.into_ptr())
});
entry!(has_interest, 3, |py, trie, text| {
    let found = trie.is_heard(py, text)?;
    Ok(PyBool::new(py, found).to_owned().into_ptr())
});
