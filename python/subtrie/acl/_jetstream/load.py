"""Streams from ``/jsz``, saved or asked of a broker, and from ``nats stream info --json``."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..._core import engine
from ..._core.errors import SubtrieError
from ..._core.file_errors import file_error
from .._account import GLOBAL
from .._load.deployments import is_address
from .._load.files import read_text
from .._load.snapshots import json_at, shown_address
from .streams import Consumer, Origin, Stream, Streams

#: The page of the monitoring port that tells streams with their settings.
PAGE = "/jsz?accounts=1&streams=1&consumers=1&config=1"

#: Most streams of all inputs, and most consumers of one stream.
MAX_STREAMS, MAX_CONSUMERS = 100_000, 100_000


def holds_streams(source: str | Path) -> bool:
    """Return True if an input is a file of streams: JSON of ``/jsz`` or of a stream.

    A file that is cut short is one, too, if it begins as such a file does.

    Args:
        source: a file, or an address, which is none.
    """
    if is_address(source) or not Path(source).is_file():
        return False
    try:
        text = read_text(Path(source))
    except (SubtrieError, OSError):
        return False
    if not text.lstrip().startswith(("{", "[")):
        return False
    documents, _ = _documents(text)
    if documents:
        return any(map(_about_streams, documents))
    return any(f'"{key}"' in text for key in _MARKS)


#: Keys that only these inputs have.
_MARKS = ("account_details", "stream_detail", "ha_assets", "consumer_seq", "max_msgs_per_subject")


def _about_streams(value: dict[str, Any]) -> bool:
    page = "server_id" in value and {"ha_assets", "account_details"} & set(value)
    return bool(page) or _is_stream(value) or _is_consumer(value)


def _is_stream(value: dict[str, Any]) -> bool:
    config = value.get("config")
    return isinstance(config, dict) and "name" in config and "state" in value


def _is_consumer(value: dict[str, Any]) -> bool:
    return "stream_name" in value and isinstance(value.get("config"), dict)


def load_streams(sources: Iterable[str | Path], account: str | None = None) -> Streams:
    """Return the streams of several inputs, which add up.

    Args:
        sources: saved answers of ``/jsz?accounts=1&streams=1&consumers=1&config=1``, of ``nats
            stream info --json`` and ``nats consumer info --json``, or addresses of monitoring
            ports.
        account: the account of streams whose input does not tell it; None for ``$G``.

    Raises:
        PermissionsError: another kind of JSON, cut short, or without the settings of streams.
        OSError: a file cannot be read, or a broker does not answer.
    """
    reader = _StreamReader(account or GLOBAL)
    for each in sources:
        reader.read(each)
    return reader.finished()


class _StreamReader:
    """Collects what several inputs hold."""

    def __init__(self, account: str) -> None:
        self._account = account
        self._streams: dict[tuple[str, str], Stream] = {}
        self._apart: dict[tuple[str, str], list[Consumer]] = {}
        self._servers: set[str] = set()
        self._cluster = 0
        self._unseen: list[str] = []
        self._given = False

    def read(self, source: str | Path) -> None:
        """Read one input."""
        if is_address(source):
            page = json_at(str(source).rstrip("/") + PAGE)
            self._page(page, Path(shown_address(str(source))))
            self._given = True
            return
        path = Path(source)
        text = read_text(path)
        documents, whole = _documents(text)
        if not text.lstrip().startswith(("{", "[")):
            raise file_error("streams", "the file", path)
        if not whole:
            raise file_error("json-cut", "the file", path)
        for each in documents:
            if "server_id" in each:
                self._page(each, path)
            elif _is_consumer(each):
                self._apart.setdefault((self._account, str(each["stream_name"])), []).append(
                    _consumer(each, path)
                )
            elif _is_stream(each):
                self._keep(self._account, each, path)
            else:
                raise file_error("streams", "the file", path)
        self._given = True

    def _page(self, page: dict[str, Any], path: Path) -> None:
        """An answer of ``/jsz``."""
        if page.get("disabled") is True:
            return  # a broker without JetStream has no streams
        if "ha_assets" not in page and "account_details" not in page:
            raise file_error("streams", "the file", path)
        self._servers.add(str(page.get("server_id")))
        meta = page.get("meta_cluster")
        if isinstance(meta, dict) and type(meta.get("cluster_size")) is int:
            self._cluster = max(self._cluster, meta["cluster_size"])
        rows = _rows(page, "account_details", path)
        told = 0
        for row in rows:
            name = _text(row, "name", path)
            streams = _rows(row, "stream_detail", path)
            told += len(streams)
            for each in streams:
                self._keep(name, each, path, str(row.get("id") or name))
        number = page.get("streams")
        if type(number) is int and number > told:
            if not told:
                raise file_error("streams-config", "the file", path)
            self._unseen.append(f"{path}: {number - told} of {number} streams are not in the page")

    def _keep(self, account: str, row: dict[str, Any], path: Path, key: str = "") -> None:
        if not isinstance(row.get("config"), dict):
            raise file_error("streams-config", "the file", path)
        stream = dataclasses.replace(_stream(account, row, path), key=key or account)
        if stream.consumers is None:
            self._unseen.append(f"{path}: the consumers of {stream.label} are not given")
        self._streams[stream.key, stream.name] = stream
        if len(self._streams) > MAX_STREAMS:
            raise file_error("streams-many", "the page", path)

    def finished(self) -> Streams:
        """Return what was read, with consumers joined to streams."""
        if self._cluster > len(self._servers):
            missing = self._cluster - len(self._servers)
            self._unseen.append(
                f"the cluster has {self._cluster} servers, and the pages of {missing} are not given"
            )
        streams = []
        for key, each in self._streams.items():
            apart = self._apart.pop(key, [])
            if apart:
                each = dataclasses.replace(each, consumers=(*(each.consumers or ()), *apart))
            streams.append(each)
        for account, name in self._apart:
            self._unseen.append(f"the stream {account}:{name} of a consumer is not given")
        return Streams(tuple(streams), self._given, tuple(self._unseen))


def _documents(text: str) -> tuple[list[dict[str, Any]], bool]:
    """The objects in a text, one after another or in an array; False if there is something else."""
    decoder = json.JSONDecoder()
    found: list[dict[str, Any]] = []
    at = 0
    try:
        while text[at:].strip():
            at += len(text[at:]) - len(text[at:].lstrip())
            value, at = decoder.raw_decode(text, at)
            rows = value if isinstance(value, list) else [value]
            if not all(isinstance(each, dict) for each in rows):
                return [], False
            found += rows
    except (ValueError, RecursionError):
        return found, False
    return found, bool(found)


def _stream(account: str, row: dict[str, Any], path: Path) -> Stream:
    config = row["config"]
    state = row.get("state")
    count = state.get("consumer_count") if isinstance(state, dict) else 0
    told = row.get("consumer_detail")
    consumers: tuple[Consumer, ...] | None = None
    if told is not None or not count:
        consumers = tuple(_consumer(each, path) for each in _rows(row, "consumer_detail", path))
    origins = [_origin(each, path, mirror=False) for each in _rows(config, "sources", path)]
    if isinstance(config.get("mirror"), dict):
        origins.append(_origin(config["mirror"], path, mirror=True))
    return Stream(
        _text(config, "name", path),
        account,
        str(path),
        account,
        tuple(_patterns(config.get("subjects"), path)),
        tuple(origins),
        consumers,
        direct=config.get("allow_direct") is True,
        mirror_direct=config.get("mirror_direct") is True,
        republish=_pair(config.get("republish"), path),
        transform=_pair(config.get("subject_transform"), path),
        retention=str(config.get("retention") or "limits"),
        sealed=config.get("sealed") is True,
        keeps_messages=config.get("deny_delete") is True,
        keeps_all=config.get("deny_purge") is True,
        rollup=config.get("allow_rollup_hdrs") is True,
    )


def _origin(row: dict[str, Any], path: Path, *, mirror: bool) -> Origin:
    external = row.get("external")
    external = external if isinstance(external, dict) else {}
    transforms = _rows(row, "subject_transforms", path)
    filters = [row["filter_subject"]] if row.get("filter_subject") else []
    filters += [each.get("src") or ">" for each in transforms]
    destinations = [str(each.get("dest") or "") for each in transforms]
    return Origin(
        _text(row, "name", path),
        str(external["api"]) if external.get("api") else None,
        str(external["deliver"]) if external.get("deliver") else None,
        tuple(_patterns(filters, path)),
        tuple(destinations),
        mirror,
    )


def _consumer(row: dict[str, Any], path: Path) -> Consumer:
    config = row.get("config")
    if not isinstance(config, dict):
        raise file_error("streams-config", "the file", path)
    filters = list(config.get("filter_subjects") or [])
    if config.get("filter_subject"):
        filters.append(config["filter_subject"])
    name = row.get("name") or config.get("name") or config.get("durable_name")
    return Consumer(
        str(name),
        config.get("deliver_subject") or None,
        config.get("deliver_group") or None,
        tuple(_patterns(filters, path)),
        durable=bool(config.get("durable_name")),
        ack_policy=str(config.get("ack_policy") or "explicit"),
    )


def _patterns(values: Any, path: Path) -> Iterator[str]:
    for each in values or []:
        if not isinstance(each, str):
            raise file_error("streams", "the file", path)
        try:
            engine.check_pattern(each, "server")
        except SubtrieError as error:
            raise file_error(error.reason, each, path, None, error.position) from None
        yield each


def _pair(value: Any, path: Path) -> tuple[str, str] | None:
    if not isinstance(value, dict):
        return None
    source = value.get("src") or ">"
    [checked] = _patterns([source], path)
    return checked, str(value.get("dest") or "")


def _rows(values: dict[str, Any], name: str, path: Path) -> list[dict[str, Any]]:
    rows = values.get(name) or []
    if not isinstance(rows, list) or not all(isinstance(each, dict) for each in rows):
        raise file_error("streams", name, path, field=name)
    if len(rows) > MAX_CONSUMERS:
        raise file_error("streams-many", "the page", path)
    return rows


def _text(values: dict[str, Any], name: str, path: Path) -> str:
    value = values.get(name)
    if not isinstance(value, str) or not value:
        raise file_error("streams", name, path, field=name)
    return value
