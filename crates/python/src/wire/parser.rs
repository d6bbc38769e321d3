//! The class `Parser`: bytes in, operations out, or a `WireError` with the operations before it.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyList, PyMemoryView, PyString};

use super::op::Op;
use crate::args::{self, OptionalArg, bound};
use crate::errors::type_error;
use subtrie::grammar::Dialect;
use subtrie_nats::ErrorKind;
use subtrie_nats::wire::{self, Conn, Limits, ParseError};

/// The limit for `max_payload=None`: the largest size of nine digits.
const NO_PAYLOAD_LIMIT: usize = 999_999_999;

/// The end of the message for the one protocol of NATS without a parser here.
const NO_GATEWAY: &str = "; the gateway protocol, between clusters, is not covered";

/// A parser of one direction of one connection, without I/O.
#[pyclass(module = "subtrie.wire")]
pub struct Parser {
    core: wire::Parser,
    conn: Conn,
    dialect: Dialect,
    pinned: Option<Py<PyString>>,
    lnocu: bool,
}

#[pymethods]
impl Parser {
    #[new]
    #[pyo3(signature = (conn, *, dialect=OptionalArg::default(), max_control_line=None, max_payload=OptionalArg::default(), pinned_account=None, lnocu=OptionalArg::default()))]
    #[pyo3(
        text_signature = "(conn, *, dialect='server', max_control_line=4096, max_payload=1048576, pinned_account=None, lnocu=False)"
    )]
    fn new(
        conn: &Bound<'_, PyAny>,
        dialect: OptionalArg<'_>,
        max_control_line: Option<&Bound<'_, PyAny>>,
        max_payload: OptionalArg<'_>,
        pinned_account: Option<&Bound<'_, PyAny>>,
        lnocu: OptionalArg<'_>,
    ) -> PyResult<Self> {
        let conn = conn_named(conn)?;
        let dialect = match dialect.0 {
            None => Dialect::Server,
            Some(given) => match given.cast::<PyString>() {
                Ok(name) => args::dialect(name.to_str().unwrap_or("\u{fffd}"))?,
                Err(_) => return Err(type_error(&given, "dialect", "str")),
            },
        };
        let size = |most: u64| usize::try_from(most).unwrap_or(usize::MAX);
        let max_control_line = bound("max_control_line", max_control_line)?.map_or(4096, size);
        let max_payload = match max_payload.0 {
            None => 1_048_576,
            Some(given) if given.is_none() => NO_PAYLOAD_LIMIT,
            Some(given) => bound("max_payload", Some(&given))?.map_or(NO_PAYLOAD_LIMIT, size),
        };
        let pinned = match pinned_account {
            None => None,
            Some(given) => match given.cast::<PyString>() {
                Ok(name) if name.is_empty()? => None,
                Ok(name) => Some(name.clone().unbind()),
                Err(_) => return Err(type_error(given, "pinned_account", "str")),
            },
        };
        let lnocu = match lnocu.0 {
            None => false,
            Some(given) => match given.cast::<PyBool>() {
                Ok(flag) => flag.is_true(),
                Err(_) => return Err(type_error(&given, "lnocu", "bool")),
            },
        };
        let limits = Limits {
            dialect,
            max_control_line,
            max_payload,
            pinned: pinned.is_some(),
            lnocu,
        };
        Ok(Self {
            core: wire::Parser::new(conn, limits),
            conn,
            dialect,
            pinned,
            lnocu,
        })
    }

    /// Parse the next piece of the stream, and return the operations that it completes.
    fn feed<'py>(
        &mut self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let data = as_bytes(data)?;
        let source = data.clone().unbind();
        let source_view = PyMemoryView::from(data.as_any())?.unbind();
        // About the number of operations in a piece of short messages; more only reallocate the vector.
        let mut found: Vec<Py<Op>> = Vec::with_capacity(data.as_bytes().len() / 128 + 1);
        let mut failure: Option<PyErr> = None;
        let mut offset = self.core.offset();
        let (pinned, lnocu) = (&self.pinned, self.lnocu);
        let outcome = self.core.feed(data.as_bytes(), |op, at| {
            let (source, start) = match at {
                Some(at) => {
                    let view = op.kind.has_payload().then(|| source_view.clone_ref(py));
                    ((source.clone_ref(py), view), at)
                }
                None => ((PyBytes::new(py, op.raw).unbind(), None), 0),
            };
            let pinned = pinned.as_ref().map(|name| name.clone_ref(py));
            match Py::new(py, Op::new(&op, source, start, offset, pinned, lnocu)) {
                Ok(op) => found.push(op),
                Err(error) => failure = Some(error),
            }
            offset += op.raw.len() as u64;
        });
        if let Some(error) = failure {
            return Err(error);
        }
        let operations = PyList::new(py, found)?;
        match outcome {
            Ok(()) => Ok(operations),
            Err(error) => Err(wire_error(py, self.conn, error, &operations)),
        }
    }

    /// Whether no operation is incomplete and no error was found.
    #[getter]
    fn complete(&self) -> bool {
        self.core.is_complete()
    }

    /// The offset in the stream after the last complete operation.
    #[getter]
    fn offset(&self) -> u64 {
        self.core.offset()
    }

    /// The number of bytes that are buffered.
    #[getter]
    fn held(&self) -> usize {
        self.core.buffered()
    }

    /// The kind of connection.
    #[getter]
    fn conn(&self) -> &'static str {
        self.conn.name()
    }

    /// The dialect, `server` or `strict`.
    #[getter]
    fn dialect(&self) -> &'static str {
        self.dialect.name()
    }
}

/// Build the `WireError` for an error of the core.
pub(super) fn wire_error(
    py: Python<'_>,
    conn: Conn,
    error: ParseError,
    operations: &Bound<'_, PyList>,
) -> PyErr {
    static WIRE_ERROR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let is_limit = matches!(
        error.kind,
        ErrorKind::MaxControlLine | ErrorKind::MaxPayload
    );
    let reason = if conn.reports_parse_only() && !is_limit {
        "parse"
    } else {
        error.kind.code()
    };
    let build = || -> PyResult<Bound<'_, PyAny>> {
        WIRE_ERROR
            .import(py, "subtrie._core.errors", "wire_error")?
            .call1((
                reason,
                error.kind.code(),
                error.position,
                error.resume,
                error.stage.name(),
                operations,
            ))
    };
    match build() {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

fn conn_named(given: &Bound<'_, PyAny>) -> PyResult<Conn> {
    let Ok(name) = given.cast::<PyString>() else {
        return Err(type_error(given, "conn", "str"));
    };
    match Conn::from_name(name.to_str().unwrap_or("\u{fffd}")) {
        Some(conn) => Ok(conn),
        None => Err(PyValueError::new_err(format!(
            "conn must be 'client', 'server_to_client', 'route', 'leaf' or 'route_legacy', not {}{}",
            given.repr()?,
            if given.eq("gateway")? { NO_GATEWAY } else { "" }
        ))),
    }
}

/// Return a `bytes` object itself, or a copy of the buffer of another object.
fn as_bytes<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return Ok(bytes.clone());
    }
    let Ok(view) = PyMemoryView::from(data) else {
        return Err(type_error(data, "data", "bytes"));
    };
    view.call_method0("tobytes")?
        .cast_into::<PyBytes>()
        .map_err(|_| PyTypeError::new_err("data must be bytes"))
}
