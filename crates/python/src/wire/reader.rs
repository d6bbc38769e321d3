//! The class `DeliveryReader`: what a server sends to a client, with acknowledgements composed.

use std::collections::{HashMap, HashSet};

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use super::op::{Op, decoded};
use super::parser::wire_error;
use crate::args::Texts;
use subtrie::grammar::Dialect;
use subtrie_nats::http::{Acknowledgements, WrittenAck};
use subtrie_nats::wire::{self, Conn, Kind, Limits};

/// Maximum number of bytes of a line, sixteen times as many from a server: an `INFO` names all
/// servers of a cluster.
const MAX_LINE: usize = 65_536;

/// Maximum number of bytes of a message: nine digits; `limit` sets that of the broker.
const MAX_MESSAGE: usize = 999_999_999;

/// Reads what a server sends to a client, and composes acknowledgements of requests.
#[pyclass(module = "subtrie._subtrie")]
pub struct DeliveryReader {
    core: wire::Parser,
    acknowledged: HashMap<u64, Acknowledged>,
    excluded: HashSet<String>,
}

/// A subscription whose requests are acknowledged.
struct Acknowledged {
    acknowledgements: Acknowledgements,
    /// Takes the messages of one call that were acknowledged.
    receiver: Py<PyAny>,
    /// The object that stands for the subscription in each message.
    tag: Py<PyAny>,
}

/// The acknowledged messages of one receiver.
type FrameGroup<'py> = (Bound<'py, PyAny>, Vec<Bound<'py, PyAny>>);
/// Messages and operations, acknowledged messages by receiver, acknowledgements.
type Read<'py> = (Bound<'py, PyList>, Bound<'py, PyList>, Bound<'py, PyBytes>);

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
            acknowledged: HashMap::new(),
            excluded: HashSet::new(),
        }
    }

    /// Acknowledge the requests that a subscription receives.
    #[expect(
        clippy::too_many_arguments,
        reason = "what an acknowledgement consists of"
    )]
    fn acknowledge(
        &mut self,
        sid: u64,
        plane: String,
        host: String,
        whole: (Vec<u8>, Vec<u8>),
        fragment: (Vec<u8>, Vec<u8>),
        receiver: Py<PyAny>,
        tag: Py<PyAny>,
    ) {
        let written = |(before, after)| WrittenAck { before, after };
        let acknowledgements = Acknowledgements {
            plane,
            host,
            whole: written(whole),
            fragment: written(fragment),
        };
        let acknowledged = Acknowledged {
            acknowledgements,
            receiver,
            tag,
        };
        self.acknowledged.insert(sid, acknowledged);
    }

    /// Compose no acknowledgements for a subscription any more.
    fn forget(&mut self, sid: u64) {
        self.acknowledged.remove(&sid);
    }

    /// Compose no acknowledgements of requests from these hosts.
    fn exclude(&mut self, hosts: Texts) {
        self.excluded = hosts.0.into_iter().collect();
    }

    /// Refuse messages of more bytes from now on.
    const fn limit(&mut self, max_payload: usize) {
        self.core.set_max_payload(max_payload);
    }

    /// Parse the next piece of the stream; return messages and other operations in order, the
    /// acknowledged messages by receiver, and the acknowledgements. A `WireError` has what came
    /// before it.
    // The interpreter stays attached: a piece takes microseconds, and to attach again would wait for
    // the other threads. For the same reason acknowledged messages are grouped here: a loop over
    // them in Python would give way to the handlers.
    fn feed<'py>(&mut self, py: Python<'py>, data: &Bound<'py, PyBytes>) -> PyResult<Read<'py>> {
        let Self {
            core,
            acknowledged,
            excluded,
        } = self;
        let mut groups: Vec<FrameGroup<'py>> = Vec::new();
        let mut acks: Vec<u8> = Vec::new();
        let mut found: Vec<Bound<'py, PyAny>> = Vec::with_capacity(data.as_bytes().len() / 256 + 1);
        let mut failure: Option<PyErr> = None;
        let mut offset = core.offset();
        let outcome = core.feed(data.as_bytes(), |op, _| {
            if failure.is_some() {
                return;
            }
            let item = match op.kind {
                Kind::Msg | Kind::Hmsg => Message::of(py, &op).and_then(|message| {
                    message.sorted(py, acknowledged, excluded, &mut acks, &mut groups)
                }),
                _ => operation(py, &op, offset).map(Some),
            };
            offset += op.raw.len() as u64;
            match item {
                Ok(item) => found.extend(item),
                Err(error) => failure = Some(error),
            }
        });
        if let Some(error) = failure {
            return Err(error);
        }
        let items = PyList::new(py, found)?;
        let groups = PyList::new(py, groups)?;
        let acks = PyBytes::new(py, &acks);
        let Err(error) = outcome else {
            return Ok((items, groups, acks));
        };
        let error = wire_error(py, Conn::ServerToClient, error, &items);
        error.value(py).setattr(intern!(py, "groups"), groups)?;
        let name = intern!(py, "acknowledgements");
        error.value(py).setattr(name, acks)?;
        Err(error)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.acknowledged.values().try_for_each(|how| {
            visit.call(&how.receiver)?;
            visit.call(&how.tag)
        })
    }

    fn __clear__(&mut self) {
        self.acknowledged.clear();
    }
}

/// A message, its headers of NATS cut off.
struct Message<'a, 'py> {
    sid: u64,
    subject: &'a [u8],
    body: &'a [u8],
    text: Bound<'py, PyString>,
    payload: Bound<'py, PyBytes>,
}

impl<'a, 'py> Message<'a, 'py> {
    fn of(py: Python<'py>, op: &wire::Op<'a>) -> PyResult<Self> {
        let subject = op.fields.subject.of(op.raw).unwrap_or_default();
        let headers = op.fields.header_size.unwrap_or(0) as usize;
        let body = op.payload().get(headers..).unwrap_or_default();
        let sid = op.fields.sid.of(op.raw).unwrap_or_default();
        let sid = String::from_utf8_lossy(sid).parse()?; // as the parser has checked
        Ok(Self {
            sid,
            subject,
            body,
            text: decoded(py, subject)?,
            payload: PyBytes::new(py, body),
        })
    }

    /// Acknowledge it and add it to its group; or return it as a tuple of sid, subject and payload.
    fn sorted(
        self,
        py: Python<'py>,
        acknowledged: &HashMap<u64, Acknowledged>,
        excluded: &HashSet<String>,
        acks: &mut Vec<u8>,
        groups: &mut Vec<FrameGroup<'py>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let (Some(how), Ok(subject)) = (
            acknowledged.get(&self.sid),
            std::str::from_utf8(self.subject),
        ) && how
            .acknowledgements
            .write(subject, self.body, |host| excluded.contains(host), acks)
        {
            let message = (&how.tag, self.text, self.payload).into_pyobject(py)?;
            let receiver = how.receiver.bind(py);
            match groups.iter_mut().find(|(known, _)| known.is(receiver)) {
                Some((_, messages)) => messages.push(message.into_any()),
                None => groups.push((receiver.clone(), vec![message.into_any()])),
            }
            return Ok(None);
        }
        let message = (self.sid, self.text, self.payload).into_pyobject(py)?;
        Ok(Some(message.into_any()))
    }
}

/// Any other operation, with bytes of its own.
fn operation<'py>(py: Python<'py>, op: &wire::Op<'_>, offset: u64) -> PyResult<Bound<'py, PyAny>> {
    let source = PyBytes::new(py, op.raw).unbind();
    let op = Op::new(op, (source, None), 0, offset, None, false);
    Ok(Bound::new(py, op)?.into_any())
}
