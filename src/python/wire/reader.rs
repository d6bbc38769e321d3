//! The class `DeliveryReader`: what a server sends to a client, with acknowledgements composed.

use std::collections::{HashMap, HashSet};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use super::op::{Op, decoded};
use super::parser::wire_error;
use crate::grammar::Dialect;
use crate::http::{Acknowledgements, WrittenAck};
use crate::wire::{self, Conn, Kind, Limits};

/// Maximum number of bytes of a line, sixteen times as many from a server: an `INFO` names all
/// servers of a cluster.
const MAX_LINE: usize = 65_536;

/// Maximum number of bytes of a message: nine digits. The broker has checked its own limit.
const MAX_MESSAGE: usize = 999_999_999;

/// Reads what a server sends to a client, and composes acknowledgements of requests.
#[pyclass(module = "subtrie._subtrie")]
pub struct DeliveryReader {
    core: wire::Parser,
    acknowledgements: HashMap<u64, Acknowledgements>,
    excluded: HashSet<String>,
}

#[pymethods]
impl DeliveryReader {
    #[new]
    fn new() -> Self {
        let limits = Limits {
            dialect: Dialect::Server,
            max_control_line: MAX_LINE,
            max_payload: MAX_MESSAGE,
            pinned: false,
            lnocu: false,
        };
        Self {
            core: wire::Parser::new(Conn::ServerToClient, limits),
            acknowledgements: HashMap::new(),
            excluded: HashSet::new(),
        }
    }

    /// Acknowledge the requests that a subscription receives.
    fn acknowledge(
        &mut self,
        sid: u64,
        plane: String,
        host: String,
        whole: (Vec<u8>, Vec<u8>),
        fragment: (Vec<u8>, Vec<u8>),
    ) {
        let written = |(before, after)| WrittenAck { before, after };
        let acknowledgements = Acknowledgements {
            plane,
            host,
            whole: written(whole),
            fragment: written(fragment),
        };
        self.acknowledgements.insert(sid, acknowledgements);
    }

    /// Compose no acknowledgements for a subscription any more.
    fn forget(&mut self, sid: u64) {
        self.acknowledgements.remove(&sid);
    }

    /// Compose no acknowledgements of requests from these hosts.
    fn exclude(&mut self, hosts: Vec<String>) {
        self.excluded = hosts.into_iter().collect();
    }

    /// Parse the next piece of the stream; return messages and other operations in order, and the
    /// acknowledgements.
    // The interpreter stays attached: a piece takes microseconds, and to attach again would wait for
    // the other threads.
    fn feed<'py>(
        &mut self,
        py: Python<'py>,
        data: &Bound<'py, PyBytes>,
    ) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyBytes>)> {
        let Self {
            core,
            acknowledgements,
            excluded,
        } = self;
        let mut acks: Vec<u8> = Vec::new();
        let mut found: Vec<Bound<'py, PyAny>> = Vec::with_capacity(data.as_bytes().len() / 256 + 1);
        let mut failure: Option<PyErr> = None;
        let mut offset = core.offset();
        let outcome = core.feed(data.as_bytes(), |op, _| {
            let item = match op.kind {
                Kind::Msg | Kind::Hmsg => message(py, &op, acknowledgements, excluded, &mut acks),
                _ => operation(py, &op, offset),
            };
            offset += op.raw.len() as u64;
            match item {
                Ok(item) => found.push(item),
                Err(error) => failure = Some(error),
            }
        });
        if let Some(error) = failure {
            return Err(error);
        }
        let items = PyList::new(py, found)?;
        match outcome {
            Ok(()) => Ok((items, PyBytes::new(py, &acks))),
            Err(error) => Err(wire_error(py, Conn::ServerToClient, error, &items)),
        }
    }
}

/// A message as a tuple: sid, subject, payload without headers, whether it was acknowledged.
fn message<'py>(
    py: Python<'py>,
    op: &wire::Op<'_>,
    acknowledgements: &HashMap<u64, Acknowledgements>,
    excluded: &HashSet<String>,
    acks: &mut Vec<u8>,
) -> PyResult<Bound<'py, PyAny>> {
    let subject = op.fields.subject.of(op.raw).unwrap_or_default();
    let payload = op.payload();
    let headers = op.fields.header_size.unwrap_or(0) as usize;
    let body = payload.get(headers..).unwrap_or_default();
    let sid = op.fields.sid.of(op.raw).unwrap_or_default();
    let sid: u64 = std::str::from_utf8(sid)
        .ok()
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| PyValueError::new_err("the server sent a sid that is not a number"))?;
    let acknowledged = match (acknowledgements.get(&sid), std::str::from_utf8(subject)) {
        (Some(each), Ok(subject)) => {
            each.write(subject, body, |host| excluded.contains(host), acks)
        }
        _ => false,
    };
    let parts = (
        sid,
        decoded(py, subject)?,
        PyBytes::new(py, body),
        acknowledged,
    );
    parts.into_pyobject(py).map(Bound::<PyTuple>::into_any)
}

/// Any other operation, with bytes of its own.
fn operation<'py>(py: Python<'py>, op: &wire::Op<'_>, offset: u64) -> PyResult<Bound<'py, PyAny>> {
    let source = PyBytes::new(py, op.raw).unbind();
    let op = Op::new(op, (source, None), 0, offset, None, false);
    Ok(Bound::new(py, op)?.into_any())
}
