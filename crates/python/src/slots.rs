//! Objects of Python classes with `__slots__`, created without running their `__init__`.
//!
//! The `__init__` of a frozen dataclass assigns each field through `object.__setattr__`, which takes
//! longer than decoding the subject that the fields come from.
//!
//! Contains `unsafe` code: an object is allocated as `object.__new__` or `str.__new__` does, and its
//! slots are set through the descriptors of the class, which check the type of the object.
#![allow(unsafe_code)]

use std::ptr;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};

/// A class and the descriptors of `N` of its slots.
pub struct SlottedClass<const N: usize> {
    class: Py<PyType>,
    slots: [Py<PyAny>; N],
    /// The function of `types.MemberDescriptorType` that sets a slot.
    set: ffi::descrsetfunc,
}

impl<const N: usize> SlottedClass<N> {
    /// Import a class and find its slots.
    ///
    /// # Errors
    ///
    /// `TypeError` if one of the names is not a slot of the class.
    pub fn import(py: Python<'_>, module: &str, name: &str, slots: [&str; N]) -> PyResult<Self> {
        let class = py.import(module)?.getattr(name)?.cast_into::<PyType>()?;
        let member = py
            .import("types")?
            .getattr("MemberDescriptorType")?
            .cast_into::<PyType>()?;
        let not_a_slot = || PyTypeError::new_err(format!("a field of {name} is not a slot"));
        let mut found = Vec::with_capacity(N);
        for slot in slots {
            let descriptor = class.getattr(slot)?;
            let owner = descriptor.getattr("__objclass__")?;
            if !descriptor.is_exact_instance(&member) || !class.is_subclass(&owner)? {
                return Err(not_a_slot());
            }
            found.push(descriptor.unbind());
        }
        // SAFETY: `PyType_GetSlot` accepts every type since Python 3.10; for this slot it returns
        // null or a function of this signature.
        let set = unsafe {
            let set = ffi::PyType_GetSlot(member.as_type_ptr(), ffi::Py_tp_descr_set);
            std::mem::transmute::<*mut std::ffi::c_void, Option<ffi::descrsetfunc>>(set)
        };
        Ok(Self {
            class: class.unbind(),
            slots: found.try_into().map_err(|_| not_a_slot())?,
            set: set.ok_or_else(not_a_slot)?,
        })
    }

    /// Create an object whose slots have these values.
    pub fn create<'py>(
        &self,
        py: Python<'py>,
        values: [Bound<'py, PyAny>; N],
    ) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: this is how `object.__new__` creates an object of a class: the allocation is
        // zeroed, so that slots are unset, and belongs to the caller.
        let object = unsafe {
            let class = self.class.bind(py).as_type_ptr();
            Bound::from_owned_ptr_or_err(py, ffi::PyType_GenericAlloc(class, 0))?
        };
        self.fill(&object, values)?;
        Ok(object)
    }

    /// Create an object of a subclass of `str` whose slots have these values.
    pub fn create_str<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        values: [Bound<'py, PyAny>; N],
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = PyTuple::new(py, [PyString::new(py, text)])?;
        // SAFETY: `tp_new` of `str` has this signature; it fails if the class is not a subclass of
        // `str`, and returns a new reference.
        let object = unsafe {
            let new = ffi::PyType_GetSlot(&raw mut ffi::PyUnicode_Type, ffi::Py_tp_new);
            let new = std::mem::transmute::<*mut std::ffi::c_void, Option<ffi::newfunc>>(new);
            let new = new.ok_or_else(|| PyTypeError::new_err("str has no __new__"))?;
            let class = self.class.bind(py).as_type_ptr();
            Bound::from_owned_ptr_or_err(py, new(class, arguments.as_ptr(), ptr::null_mut()))?
        };
        self.fill(&object, values)?;
        Ok(object)
    }

    /// Set the slots of an object that nothing else refers to yet.
    fn fill(&self, object: &Bound<'_, PyAny>, values: [Bound<'_, PyAny>; N]) -> PyResult<()> {
        let py = object.py();
        for (slot, value) in self.slots.iter().zip(values) {
            // SAFETY: the function belongs to the type that `import` has checked the descriptor to
            // have. It checks that the object is of the class that has the slot, and takes a
            // reference to the value of its own.
            let status = unsafe { (self.set)(slot.as_ptr(), object.as_ptr(), value.as_ptr()) };
            if status != 0 {
                return Err(PyErr::fetch(py));
            }
        }
        Ok(())
    }
}
