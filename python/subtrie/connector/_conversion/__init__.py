"""Conversion between JSON, texts and the annotated types of handlers and typed clients.

Each annotation is compiled once, when a function is decorated, to a ``Converter``: how a value is
read, the zero of the type, and its JSON schema. What Go writes is read, and written as Go does:
``time.Time`` as RFC 3339, ``[]byte`` as base64, ``time.Duration`` as an integer of nanoseconds.
Values are written by their own type.
"""
