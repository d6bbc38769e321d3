//! Bindings of `grammar::check_name`: the `NameReport` that both engines return.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyString, PyTuple};
use subtrie::ErrorKind;

use super::args::OptionalArg;
use super::errors::type_error;
use subtrie::grammar::{self, Level, NameKind};

/// Return the report on a name of this kind; its content never raises an exception.
#[pyfunction]
#[pyo3(signature = (
    text, kind, *, level=OptionalArg::default(), windows=OptionalArg::default()
))]
#[pyo3(text_signature = "(text, kind, *, level='adr6', windows=False)")]
pub fn check_name<'py>(
    text: &Bound<'py, PyAny>,
    kind: &Bound<'py, PyAny>,
    level: OptionalArg<'py>,
    windows: OptionalArg<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    static REPORT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static NEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = text.py();
    let Ok(string) = text.cast::<PyString>() else {
        return Err(type_error(text, "text", "str"));
    };
    let (level, windows) = (level.0, windows.0);
    let kind_name = option_text(kind, "kind")?;
    let level_name = match &level {
        Some(given) => option_text(given, "level")?,
        None => "adr6",
    };
    let is_windows = match &windows {
        None => false,
        Some(given) => match given.cast::<PyBool>() {
            Ok(flag) => flag.is_true(),
            Err(_) => return Err(type_error(given, "windows", "bool")),
        },
    };
    let Some(parsed_kind) = NameKind::from_name(kind_name) else {
        return Err(unknown_kind(kind));
    };
    let Some(parsed_level) = Level::from_name(level_name) else {
        return Err(PyValueError::new_err(format!(
            "level must be 'adr6', 'go-client' or 'cli', not {}",
            level.as_ref().map_or_else(
                || Ok(String::new()),
                |given| given.repr().map(|r| r.to_string())
            )?
        )));
    };
    let none = || py.None().into_bound(py);
    let code = |rule| PyString::intern(py, rule).into_any();
    let (rule, reason, position) = match string.to_str() {
        Ok(text) => match grammar::check_name(text, parsed_kind, parsed_level, is_windows) {
            Ok(()) => (none(), none(), none()),
            Err(broken) => (
                code(broken.rule),
                code(broken.kind.code()),
                broken.position.into_pyobject(py)?.into_any(),
            ),
        },
        // Every kind rejects a lone surrogate.
        Err(_) => (
            code("any-character"),
            code(ErrorKind::Surrogate.code()),
            first_surrogate(string)?,
        ),
    };
    let level = level.unwrap_or_else(|| pyo3::intern!(py, "adr6").clone().into_any());
    let windows = PyBool::new(py, is_windows).to_owned().into_any();
    let parts = [
        text.clone(),
        kind.clone(),
        level,
        windows,
        rule,
        reason,
        position,
    ];
    // The constructor of a named tuple is Python code that takes longer than the validation of a name;
    // that of `tuple` also fills what a version of Python keeps beside the items.
    let class = REPORT.import(py, "subtrie.names", "NameReport")?;
    let new = NEW.get_or_try_init(py, || -> PyResult<_> {
        Ok(py.get_type::<PyTuple>().getattr("__new__")?.unbind())
    })?;
    new.bind(py).call1((class, PyTuple::new(py, parts)?))
}

/// Borrow the text of an option; a lone surrogate becomes a text that is not a valid option.
fn option_text<'a>(given: &'a Bound<'_, PyAny>, name: &str) -> PyResult<&'a str> {
    match given.cast::<PyString>() {
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

/// The byte offset of the first lone surrogate.
fn first_surrogate<'py>(text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
    text.py()
        .import("subtrie._core.errors")?
        .getattr("first_surrogate")?
        .call1((text,))
}
