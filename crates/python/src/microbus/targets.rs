//! The class `RequestTargets`: the targets of the requests of one sender.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple};

use super::args::{Any, address_error, text};
use super::encode::{target_error, target_parts};
use subtrie::microbus;

/// The targets of the requests of one sender.
#[pyclass(frozen, module = "subtrie._subtrie")]
pub struct RequestTargets {
    plane: Py<PyAny>,
    source: Py<PyAny>,
    core: microbus::RequestTargets,
}

#[pymethods]
impl RequestTargets {
    #[new]
    #[pyo3(signature = (*, plane, source))]
    fn new(plane: &Any<'_>, source: &Any<'_>) -> PyResult<Self> {
        let core = microbus::RequestTargets::new(text(plane, "plane")?, text(source, "source")?)
            .map_err(|error| address_error(&error, &[("plane", plane), ("source", source)]))?;
        Ok(Self {
            plane: plane.clone().unbind(),
            source: source.clone().unbind(),
            core,
        })
    }

    #[pyo3(signature = (method, url, params=None, /))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        method: &Any<'py>,
        url: &Any<'py>,
        params: Option<&Any<'py>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (method_text, url_text) = (text(method, "method")?, text(url, "url")?);
        let params = params.map_or_else(|| Ok(Vec::new()), params_of)?;
        let params: Vec<_> = params.iter().map(|(n, v)| (&**n, &**v)).collect();
        let whole = microbus::with_params(url_text, &params);
        let target = self.core.of(method_text, &whole).map_err(|error| {
            let sender = (self.plane.bind(py), self.source.bind(py));
            let shown = PyString::new(py, &whole).into_any();
            target_error(py, &error, sender, method, &shown)
        })?;
        let subject = PyString::new(py, &target.subject).into_any();
        target_parts(py, &target, subject)
    }
}

/// The parameters of a mapping or of pairs, as texts: a list repeats its name, None is left out.
fn params_of(params: &Any<'_>) -> PyResult<Vec<(String, String)>> {
    let pairs = match params.cast::<PyDict>() {
        Ok(given) => given.items().into_any(),
        Err(_) if params.hasattr("items")? => params.call_method0("items")?,
        Err(_) => params.clone(),
    };
    let mut found = Vec::new();
    for pair in pairs.try_iter()? {
        // Usually a tuple; any other pair is one as well.
        let pair = pair?.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        let [name, value] = &pair[..] else {
            return Err(PyValueError::new_err(format!(
                "a parameter must be (name, value), not {} parts",
                pair.len()
            )));
        };
        let name = text(name, "params")?;
        if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            for each in value.try_iter()? {
                add_param(&mut found, name, &each?)?;
            }
        } else {
            add_param(&mut found, name, value)?;
        }
    }
    Ok(found)
}

fn add_param(found: &mut Vec<(String, String)>, name: &str, value: &Any<'_>) -> PyResult<()> {
    if value.is_none() {
        return Ok(());
    }
    let written = if value.is_instance_of::<PyBool>() {
        (if value.is_truthy()? { "true" } else { "false" }).to_owned()
    } else {
        text(&value.str()?.into_any(), "params")?.to_owned()
    };
    found.push((name.to_owned(), written));
    Ok(())
}
