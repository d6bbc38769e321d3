//! The class `Op`: a parsed operation, whose parts are decoded on demand.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyMemoryView, PySlice, PyString, PyTuple};

use subtrie_nats::wire::{self, Conn, Fields, Kind, Rsid, Span};

/// A parsed operation. Parts that it does not have are None.
// `freelist`: operations are created and dropped by the hundred; without a free list the interpreter
// returns their memory to the system and requests it again for every piece of the stream.
#[pyclass(frozen, freelist = 1024, module = "subtrie.wire")]
pub struct Op {
    conn: Conn,
    kind: Kind,
    fields: Fields,
    source: Py<PyBytes>,
    /// A view of the whole source, shared by the operations of a piece.
    source_view: Option<Py<PyMemoryView>>,
    start: usize,
    length: usize,
    offset: u64,
    pinned: Option<Py<PyString>>,
    lnocu: bool,
}

type Text<'py> = PyResult<Option<Bound<'py, PyString>>>;
type BytesView<'py> = PyResult<Option<Bound<'py, PyAny>>>;

impl Op {
    pub fn new(
        op: &wire::Op<'_>,
        (source, source_view): (Py<PyBytes>, Option<Py<PyMemoryView>>),
        start: usize,
        offset: u64,
        pinned: Option<Py<PyString>>,
        lnocu: bool,
    ) -> Self {
        Self {
            conn: op.conn,
            kind: op.kind,
            fields: op.fields,
            source,
            source_view,
            start,
            length: op.raw.len(),
            offset,
            pinned,
            lnocu,
        }
    }

    fn bytes<'a>(&'a self, py: Python<'a>) -> &'a [u8] {
        let source = self.source.bind(py).as_bytes();
        source
            .get(self.start..self.start + self.length)
            .unwrap_or_default()
    }

    fn core<'a>(&'a self, py: Python<'a>) -> wire::Op<'a> {
        wire::Op {
            conn: self.conn,
            kind: self.kind,
            raw: self.bytes(py),
            fields: self.fields,
        }
    }

    fn text<'py>(&self, py: Python<'py>, span: Span) -> Text<'py> {
        span.of(self.bytes(py))
            .map(|text| decoded(py, text))
            .transpose()
    }

    /// A view into the bytes that were fed.
    fn view<'py>(&self, py: Python<'py>, start: usize, end: usize) -> BytesView<'py> {
        let offset = |at: usize| isize::try_from(self.start + at).unwrap_or(isize::MAX);
        let slice = PySlice::new(py, offset(start), offset(end), 1);
        match &self.source_view {
            Some(view) => view.bind(py).get_item(slice),
            None => PyMemoryView::from(self.source.bind(py).as_any())?.get_item(slice),
        }
        .map(Some)
    }

    /// Offset at which the headers end and the body begins.
    fn body_start(&self) -> Option<usize> {
        let header = self.fields.header_size? as usize;
        Some(self.fields.payload.start() + header)
    }

    fn has_headers(&self) -> bool {
        matches!(self.kind, Kind::Hmsg | Kind::Hpub | Kind::Lmsg)
            && self.fields.header_size.is_some()
    }

    fn canonical(&self, py: Python<'_>) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.length);
        self.core(py).write_into(&mut out);
        out
    }

    /// One item of the parsed header block: 0 status, 1 description, 2 headers.
    fn header_item<'py>(&self, py: Python<'py>, index: usize) -> BytesView<'py> {
        static READ: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let (true, Some(body_start)) = (self.has_headers(), self.body_start()) else {
            return Ok(None);
        };
        let raw = self.bytes(py);
        let block = raw
            .get(self.fields.payload.start()..body_start)
            .unwrap_or_default();
        let read = READ.import(py, "subtrie._core.op_serialization", "header_block")?;
        let read = read.call1((PyBytes::new(py, block),))?;
        if read.is_none() {
            return Ok(None);
        }
        read.get_item(index).map(Some)
    }
}

/// Decode text of the protocol: UTF-8, and other bytes as lone surrogates (`surrogateescape`).
pub(super) fn decoded<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Bound<'py, PyString>> {
    match std::str::from_utf8(text) {
        Ok(text) => Ok(PyString::new(py, text)),
        Err(_) => PyString::from_encoded_object(
            &PyBytes::new(py, text),
            Some(c"utf-8"),
            Some(c"surrogateescape"),
        ),
    }
}

#[pymethods]
impl Op {
    #[getter]
    fn conn(&self) -> &'static str {
        self.conn.name()
    }

    #[getter]
    fn op(&self) -> &'static str {
        self.kind.name()
    }

    #[getter]
    fn account<'py>(&self, py: Python<'py>) -> Text<'py> {
        if let Some(pinned) = &self.pinned
            && self.conn == Conn::Route
            && self.fields.subject != Span::NONE
        {
            return Ok(Some(pinned.bind(py).clone()));
        }
        self.text(py, self.fields.account)
    }

    #[getter]
    fn origin<'py>(&self, py: Python<'py>) -> Text<'py> {
        self.text(py, self.fields.origin)
    }

    #[getter]
    fn subject<'py>(&self, py: Python<'py>) -> Text<'py> {
        self.text(py, self.fields.subject)
    }

    #[getter]
    fn reply<'py>(&self, py: Python<'py>) -> Text<'py> {
        self.text(py, self.fields.reply)
    }

    #[getter]
    fn queue<'py>(&self, py: Python<'py>) -> Text<'py> {
        self.text(py, self.fields.queue)
    }

    #[getter]
    fn queues<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let routed = matches!(self.conn, Conn::Route | Conn::Leaf);
        if !routed || !matches!(self.kind, Kind::Rmsg | Kind::Lmsg | Kind::Hmsg) {
            return Ok(None);
        }
        let names: PyResult<Vec<_>> = self
            .core(py)
            .queues()
            .map(|name| decoded(py, name))
            .collect();
        PyTuple::new(py, names?).map(Some)
    }

    #[getter]
    fn sid<'py>(&self, py: Python<'py>) -> Text<'py> {
        if self.conn == Conn::RouteLegacy && self.kind != Kind::Msg {
            let raw = self.bytes(py);
            let rsid = self.fields.sid.of(raw).and_then(Rsid::parse);
            return rsid.map(|rsid| decoded(py, rsid.sid)).transpose();
        }
        self.text(py, self.fields.sid)
    }

    #[getter]
    fn rsid<'py>(&self, py: Python<'py>) -> Text<'py> {
        if self.conn != Conn::RouteLegacy || self.kind == Kind::Msg {
            return Ok(None);
        }
        self.text(py, self.fields.sid)
    }

    #[getter]
    fn is_queue(&self, py: Python<'_>) -> Option<bool> {
        self.rsid_read(py).map(|rsid| rsid.is_queue)
    }

    #[getter]
    fn cid(&self, py: Python<'_>) -> Option<u64> {
        self.rsid_read(py).map(|rsid| rsid.cid)
    }

    #[getter]
    fn printed_sid<'py>(&self, py: Python<'py>) -> Text<'py> {
        self.text(py, self.fields.printed_sid)
    }

    #[getter]
    fn max(&self) -> Option<u32> {
        self.fields.max
    }

    #[getter]
    fn weight(&self) -> Option<i64> {
        self.fields.weight
    }

    #[getter]
    fn size(&self) -> Option<usize> {
        let payload = self.fields.payload;
        (self.kind.has_payload()).then(|| payload.end().saturating_sub(payload.start()))
    }

    #[getter]
    fn header_size(&self) -> Option<u32> {
        self.fields.header_size
    }

    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> BytesView<'py> {
        let payload = self.fields.payload;
        if !self.kind.has_payload() {
            return Ok(None);
        }
        let start = match self.body_start() {
            Some(body_start) if self.conn == Conn::ServerToClient => body_start,
            _ => payload.start(),
        };
        self.view(py, start, payload.end())
    }

    #[getter]
    fn header<'py>(&self, py: Python<'py>) -> BytesView<'py> {
        match self.body_start() {
            Some(body_start) if self.kind.has_payload() => {
                self.view(py, self.fields.payload.start(), body_start)
            }
            _ => Ok(None),
        }
    }

    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> BytesView<'py> {
        let payload = self.fields.payload;
        if !self.kind.has_payload() {
            return Ok(None);
        }
        let start = self.body_start().unwrap_or_else(|| payload.start());
        self.view(py, start, payload.end())
    }

    #[getter]
    fn status<'py>(&self, py: Python<'py>) -> BytesView<'py> {
        self.header_item(py, 0)
    }

    #[getter]
    fn description<'py>(&self, py: Python<'py>) -> BytesView<'py> {
        self.header_item(py, 1)
    }

    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> BytesView<'py> {
        self.header_item(py, 2)
    }

    #[getter]
    fn json<'py>(&self, py: Python<'py>) -> BytesView<'py> {
        static DECODE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        if !self.kind.has_json() {
            return Ok(None);
        }
        let text = self.fields.text.of(self.bytes(py)).unwrap_or_default();
        let decode = DECODE.import(py, "subtrie._core.op_serialization", "decode_json")?;
        decode.call1((PyBytes::new(py, text),)).map(Some)
    }

    #[getter]
    fn message<'py>(&self, py: Python<'py>) -> Text<'py> {
        if self.kind.has_json() {
            return Ok(None);
        }
        self.text(py, self.fields.text)
    }

    #[getter]
    fn raw<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.bytes(py))
    }

    #[getter]
    fn offset(&self) -> u64 {
        self.offset
    }

    fn as_dict<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        serialization(slf.py(), "as_dict")?.call1((slf,))
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.canonical(py))
    }

    fn __eq__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        let Ok(other) = other.cast::<Self>() else {
            return Ok(py.NotImplemented());
        };
        let other = other.get();
        let pinned = match (&self.pinned, &other.pinned) {
            (None, None) => true,
            (Some(one), Some(two)) => one.bind(py).as_any().eq(two.bind(py))?,
            _ => false,
        };
        let equal = pinned
            && self.conn == other.conn
            && self.kind == other.kind
            && self.canonical(py) == other.canonical(py);
        Ok(equal.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __hash__(&self, py: Python<'_>) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.canonical(py).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        serialization(slf.py(), "shown")?.call1((slf,))?.extract()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pinned = self.pinned.as_ref().map(|name| name.bind(py).clone());
        let parts = (self.conn.name(), self.raw(py), pinned, self.lnocu);
        Ok((serialization(py, "restored")?, parts)
            .into_pyobject(py)?
            .into_any())
    }
}

impl Op {
    fn rsid_read<'a>(&'a self, py: Python<'a>) -> Option<Rsid<'a>> {
        if self.conn != Conn::RouteLegacy {
            return None;
        }
        self.fields.sid.of(self.bytes(py)).and_then(Rsid::parse)
    }
}

/// A function of `subtrie._core.op_serialization`.
fn serialization<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("subtrie._core.op_serialization")?.getattr(name)
}
