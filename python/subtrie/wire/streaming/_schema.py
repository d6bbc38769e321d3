"""Build message classes from ``stan.proto`` with the installed protobuf runtime.

The file is parsed on first use. There is no generated code, which would be bound to certain
versions of the runtime. The parser supports only the syntax that the file uses.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

from ..._core.errors import SubjectError, WireError
from ..._core.extras import install_command
from ..._core.reasons import REASONS

_COMMENT = re.compile(r"//[^\n]*")
_BLOCK = re.compile(r"(message|enum)\s+(\w+)\s*\{([^}]*)\}")
_FIELD = re.compile(r"(\w+)\s+(\w+)\s*=\s*(\d+)\s*;")
_VALUE = re.compile(r"(\w+)\s*=\s*(\d+)\s*;")
_PACKAGE = re.compile(r"package\s+([\w.]+)\s*;")


def text() -> str:
    """Return the protocol file."""
    return (files(__package__) / "stan.proto").read_text(encoding="utf-8")


def _decode(cls: Any, data: bytes | memoryview) -> Any:
    """Decode a message; unknown fields are preserved. Raises ``WireError`` (``bad message``)."""
    from google.protobuf.message import DecodeError

    try:
        return cls.FromString(bytes(data))
    except DecodeError:
        rule = REASONS["bad message"]
        raise WireError(
            f"not a {cls.DESCRIPTOR.name}: {rule.sentence}; {rule.hint}",
            reason="bad message",
            hint=rule.hint,
            status=rule.status,
        ) from None


def _encode(self: Any) -> bytes:
    """Encode the message; equal messages have equal bytes.

    Raises:
        SubjectError: The message names a channel with wildcards; ``decode`` reads it.
    """
    # S3-007
    channel = str(getattr(self, "subject", ""))
    if not {"*", ">"}.isdisjoint(channel.split(".")):
        raise SubjectError(
            f"a channel of NATS Streaming has no wildcards: {channel!r}; name each channel",
            reason="wildcard",
            field="subject",
            hint="name each channel",
            status=REASONS["wildcard"].status,
        )
    data: bytes = self.SerializeToString(deterministic=True)
    return data


@cache
def loaded() -> dict[str, Any]:
    """Return message classes and enumerations by name. Raises ``ImportError`` without protobuf."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError as error:
        raise ImportError(
            f"NATS Streaming needs the protobuf runtime: {install_command('wire')}"
        ) from error
    source = _COMMENT.sub("", text())
    package = _PACKAGE.search(source)
    assert package is not None
    proto = descriptor_pb2.FileDescriptorProto(
        name="subtrie/stan.proto", package=package[1], syntax="proto3"
    )
    blocks = _BLOCK.findall(source)
    enums = {name for kind, name, _ in blocks if kind == "enum"}
    kinds = descriptor_pb2.FieldDescriptorProto
    for kind, name, body in blocks:
        if kind == "enum":
            enum = proto.enum_type.add(name=name)
            for label, number in _VALUE.findall(body):
                enum.value.add(name=label, number=int(number))
            continue
        message = proto.message_type.add(name=name)
        for type_name, label, number in _FIELD.findall(body):
            field = message.field.add(name=label, number=int(number), label=kinds.LABEL_OPTIONAL)
            if type_name in enums:
                field.type = kinds.TYPE_ENUM
                field.type_name = f".{package[1]}.{type_name}"
            else:
                field.type = getattr(kinds, f"TYPE_{type_name.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(proto)
    file = pool.FindFileByName(proto.name)
    found: dict[str, Any] = {
        name: message_factory.GetMessageClass(descriptor)
        for name, descriptor in file.message_types_by_name.items()
    }
    for message_class in found.values():
        message_class.decode = classmethod(_decode)
        message_class.encode = _encode
    for name, descriptor in file.enum_types_by_name.items():
        found[name] = {value.name: value.number for value in descriptor.values}
    return found
