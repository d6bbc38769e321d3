//! Bindings of `http`: messages as tuples of `str`, `dict` and `bytes`.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyList, PyString, PyTuple};

use super::errors::type_error;
use subtrie_nats::http::{self, Header, HeaderLine};

/// Read a plain request to method, target, headers and body; None if it is not plain.
#[pyfunction]
pub fn read_http_request<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyBytes>,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let Some(message) = http::read_request(data.as_bytes()) else {
        return Ok(None);
    };
    let message = (
        PyString::intern(py, message.method),
        message.target,
        headers_dict(py, &message.headers)?,
        PyBytes::new(py, message.body),
    );
    message.into_pyobject(py).map(Some)
}

/// Read a plain response to status, headers and body; None if it is not plain.
#[pyfunction]
pub fn read_http_response<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyBytes>,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let Some(message) = http::read_response(data.as_bytes()) else {
        return Ok(None);
    };
    let message = (
        message.status,
        headers_dict(py, &message.headers)?,
        PyBytes::new(py, message.body),
    );
    message.into_pyobject(py).map(Some)
}

/// The headers as a dictionary from canonical names to lists of values.
fn headers_dict<'py>(py: Python<'py>, headers: &[Header<'_>]) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    for header in headers {
        let name = PyString::new(py, &http::canonical_name(header.name));
        let value = if let Ok(value) = std::str::from_utf8(header.value) {
            PyString::new(py, value)
        } else {
            // Latin-1, as every byte is the code point of this number.
            let text: String = header.value.iter().copied().map(char::from).collect();
            PyString::new(py, &text)
        };
        match found.get_item(&name)? {
            Some(values) => values.cast_into::<PyList>()?.append(value)?,
            None => found.set_item(name, PyList::new(py, [value])?)?,
        }
    }
    Ok(found)
}

/// Return the bytes of a request.
#[pyfunction]
pub fn write_http_request<'py>(
    method: &str,
    url: &str,
    headers: &Bound<'py, PyDict>,
    body: &Bound<'py, PyBytes>,
) -> PyResult<Bound<'py, PyBytes>> {
    let pairs = pairs(headers)?;
    let mut lines = lines(&pairs)?;
    let authority = url.split('/').nth(2).unwrap_or_default();
    let data = http::write_request(method, url, authority, &mut lines, body.as_bytes());
    Ok(PyBytes::new(body.py(), &data))
}

/// Return the bytes of a response.
#[pyfunction]
pub fn write_http_response<'py>(
    status: &Bound<'py, PyInt>,
    phrase: &str,
    headers: &Bound<'py, PyDict>,
    body: &Bound<'py, PyBytes>,
) -> PyResult<Bound<'py, PyBytes>> {
    let pairs = pairs(headers)?;
    let mut lines = lines(&pairs)?;
    let data = http::write_response(status.extract()?, phrase, &mut lines, body.as_bytes());
    Ok(PyBytes::new(body.py(), &data))
}

type Pair<'py> = (Bound<'py, PyString>, Bound<'py, PyString>);

/// Each name with each of its values.
fn pairs<'py>(headers: &Bound<'py, PyDict>) -> PyResult<Vec<Pair<'py>>> {
    let mut found = Vec::with_capacity(headers.len());
    for (name, values) in headers {
        let name = string(name, "name")?;
        for value in values.cast_into::<PyList>()? {
            found.push((name.clone(), string(value, "value")?));
        }
    }
    Ok(found)
}

fn string<'py>(value: Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyString>> {
    value
        .cast_into::<PyString>()
        .map_err(|error| type_error(&error.into_inner(), name, "str"))
}

fn lines<'a>(pairs: &'a [Pair<'_>]) -> PyResult<Vec<HeaderLine<'a>>> {
    let line = |(name, value): &'a Pair<'_>| Ok((name.to_str()?, value.to_str()?));
    pairs.iter().map(line).collect()
}
