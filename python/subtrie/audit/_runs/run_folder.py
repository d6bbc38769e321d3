"""The tables of a run as Parquet files, committed by one manifest.

Each table is one file, written by one task; its name has a digest of its content. The files of a
run are written to a hidden folder, and moved when all are complete; the manifest is replaced last.
A run that fails leaves no files, and an earlier result stays readable until the new one is
complete. What a killed run leaves is not published; a later run removes it after a day. The same
rows give the same bytes: rows are sorted, row groups have a fixed length, and nothing in a file
depends on the time or on the process.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .._partial.kinds import PARTIAL_ROWS
from .._readers.log_files import shown_path
from .._schema import TABLE_COLUMNS, TABLES_VERSION, arrow_schema
from .batch_rows import rows_of_batch

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import fs

#: The file that makes the files of a run a result.
MANIFEST = "audit.json"
#: Most bytes of a manifest; one of a stream has a line for each of its logs.
_MAX_MANIFEST = 64 * 1024 * 1024
_STAGING = ".staging-"
_TABLE_FILE = rf"(?:{'|'.join(TABLE_COLUMNS)}|partials)-[0-9a-f]{{12}}\.parquet"
_OWN = re.compile(rf"{re.escape(MANIFEST)}|{_TABLE_FILE}|{re.escape(_STAGING)}.*")
#: Longer than any run writes its tables; a run that does take longer fails, and harms no result.
_LEFT_AFTER = 24 * 3600 * 10**9
#: The name of a file with the partials of a stream; the digits are random.
PARTIALS_FILE = "partials-{}.parquet"


class OutputFolderError(ValueError):
    """The output directory holds something other than an earlier result, or is not shared."""


class RunFolder:
    """The directory of a result.

    Args:
        target: A local path, or a URI that ``pyarrow.fs`` can open; None for a temporary result.
        only_read: Whether nothing is written to it; a refusal then advises no other directory.

    Raises:
        OutputFolderError: The directory holds something other than an earlier result.
    """

    def __init__(self, target: str | os.PathLike[str] | None, *, only_read: bool = False) -> None:
        self.temporary = target is None
        path = tempfile.mkdtemp(prefix="subtrie-audit-") if target is None else os.fspath(target)
        self.path = path if "://" in path else os.path.abspath(path)
        self.files, self.root = open_folder(self.path)
        self._advice = "" if only_read else "; choose another output directory"
        self._is_new = self._check()
        self.staging = f"{_STAGING}{uuid.uuid4().hex[:12]}"

    def commit(
        self,
        tables: Sequence[dict[str, Any]],
        manifest: dict[str, Any],
        stream: dict[str, Any] | None = None,
    ) -> None:
        """Publish the files of a run.

        Args:
            tables: Table, name, rows and digest of the file of every table; ``data`` if its bytes
                were returned.
            manifest: The counts of the run.
            stream: What a stream needs to go on: the names of its ``partials`` among others.

        Raises:
            OutputFolderError: A file that a worker wrote cannot be seen here.
        """
        written = {row["table"]: row for row in tables}
        self._check()
        earlier = self._files_of_manifest()
        _make(self.files, self.root)
        partials = [] if stream is None else list(stream["partials"])
        placed = [*written.values(), *({"file": name} for name in partials)]
        entries = {
            name: {key: written[name][key] for key in ("file", "rows", "sha256")}
            for name in TABLE_COLUMNS
        }
        text = json.dumps(
            {"schema": TABLES_VERSION, **manifest, "tables": entries}
            | ({} if stream is None else {"stream": stream}),
            indent=1,
            sort_keys=True,
        )
        with self._removed_on_failure({row["file"] for row in placed} - earlier):
            for row in placed:
                if row["file"] not in earlier or not self._has(row):
                    self._place(row)
            self._stage(MANIFEST, f"{text}\n".encode())
            self.files.move(self._at(f"{self.staging}/{MANIFEST}"), self._at(MANIFEST))
        for name in earlier - {entry["file"] for entry in entries.values()} - set(partials):
            self.files.delete_file(self._at(name))
        self.discard()
        self._remove_leftovers()

    def summary(self) -> dict[str, Any]:
        """Return the counts of the result.

        Raises:
            OSError: There is no result.
            ValueError: Its manifest is damaged, or of a newer version.
        """
        other = ("schema", "tables", "stream")
        return {k: v for k, v in read_manifest(self.path).items() if k not in other}

    def stream(self) -> dict[str, Any]:
        """Return what a stream needs to go on; nothing was read if there is no result.

        Raises:
            OutputFolderError: The result is not that of a stream.
        """
        try:
            manifest = read_manifest(self.path)
        except FileNotFoundError:
            return {"logs": {}, "partials": [], "rows": 0}
        if "stream" not in manifest:
            raise OutputFolderError(
                f"{shown_path(self.path)} has a result that is not that of a stream; "
                "choose another output directory"
            )
        found: dict[str, Any] = manifest["stream"]
        return found

    def discard(self) -> None:
        """Remove what a run has written and not published, the directory if it made it too."""
        from pyarrow import fs

        def kind(name: str) -> Any:
            return self.files.get_file_info(self._at(name) if name else self.root).type

        if kind(self.staging) == fs.FileType.Directory:
            self.files.delete_dir(self._at(self.staging))
        made = self._is_new and not self.temporary and kind("") == fs.FileType.Directory
        if made and not self.files.get_file_info(fs.FileSelector(self.root)):
            self.files.delete_dir(self.root)

    def remove(self) -> None:
        """Remove a temporary result."""
        if self.temporary:
            self.files.delete_dir(self.root)

    def _has(self, row: dict[str, Any]) -> bool:
        """Return whether a file that was returned is there whole; its name has its digest."""
        data = row.get("data")
        return data is not None and self.files.get_file_info(self._at(row["file"])).size == len(
            data
        )

    def _at(self, name: str) -> str:
        return f"{self.root}/{name}"

    def _place(self, row: dict[str, Any]) -> None:
        """Give a file its final name."""
        from pyarrow import fs

        data = row.get("data")
        if data is not None:
            self._stage(row["file"], data)
        staged = self._at(f"{self.staging}/{row['file']}")
        if self.files.get_file_info(staged).type != fs.FileType.File:
            raise OutputFolderError(
                f"{shown_path(self.path)} is not shared with the workers: the files that "
                "they wrote are not there; choose an output directory that all machines share"
            )
        self.files.move(staged, self._at(row["file"]))

    def _stage(self, name: str, data: bytes) -> None:
        """Write a file into the hidden folder, so that a part of it is never visible."""
        _make(self.files, self.root)
        self.files.create_dir(self._at(self.staging), recursive=True)
        with self.files.open_output_stream(self._at(f"{self.staging}/{name}")) as stream:
            stream.write(data)

    @contextlib.contextmanager
    def _removed_on_failure(self, names: set[str]) -> Iterator[None]:
        """Remove files of a run, and its hidden folder, if it fails."""
        from pyarrow import fs

        try:
            yield
        except BaseException:
            for name in names:
                if self.files.get_file_info(self._at(name)).type == fs.FileType.File:
                    self.files.delete_file(self._at(name))
            self.discard()
            raise

    def _remove_leftovers(self) -> None:
        """Remove what runs that were killed left: not published, and unchanged for a day.

        The time is that of the manifest, as the clock of a store may differ from this machine's.
        """
        from pyarrow import fs

        now = self.files.get_file_info(self._at(MANIFEST)).mtime_ns
        published = self._files_of_manifest()
        if now is None or not published:
            return
        for entry in self.files.get_file_info(fs.FileSelector(self.root)):
            name = entry.base_name
            if name in published or name == MANIFEST or not _OWN.fullmatch(name):
                continue
            with contextlib.suppress(OSError):  # another run removed it meanwhile
                is_folder = entry.type == fs.FileType.Directory
                inside = fs.FileSelector(entry.path, recursive=True)
                parts = [entry, *(self.files.get_file_info(inside) if is_folder else ())]
                # A store has no times of folders.
                times = [part.mtime_ns for part in parts if part.mtime_ns is not None]
                if times and now - max(times) > _LEFT_AFTER:
                    remove = self.files.delete_dir if is_folder else self.files.delete_file
                    remove(entry.path)

    def _files_of_manifest(self) -> set[str]:
        try:
            manifest = read_manifest(self.path)
        except (OSError, ValueError):
            return set()
        files = {entry["file"] for entry in manifest.get("tables", {}).values()}
        return files | set(manifest.get("stream", {}).get("partials", ()))

    def _check(self) -> bool:
        """Return whether there is no directory; refuse one that holds more than a result."""
        from pyarrow import fs

        info = self.files.get_file_info(self.root)
        if info.type == fs.FileType.NotFound:
            return True
        names = None
        if info.type == fs.FileType.Directory:
            found = self.files.get_file_info(fs.FileSelector(self.root))
            names = {each.base_name for each in found}
        if names is None or not all(_OWN.fullmatch(name) for name in names):
            raise OutputFolderError(
                f"{shown_path(self.path)} exists and is not an audit result{self._advice}"
            )
        if MANIFEST in names:
            try:
                read_manifest(self.path)
            except ValueError as error:  # damaged, or newer: its files are not ours to remove
                raise OutputFolderError(f"{error}{self._advice}") from None
        return False


def open_folder(path: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a path, and the path in it."""
    from pyarrow import fs

    if "://" in path:
        system, inner = fs.FileSystem.from_uri(path)
        return system, inner.rstrip("/")
    return fs.LocalFileSystem(), path


def _make(files: fs.FileSystem, root: str) -> None:
    """Make the directory of a result, for its owner only: it has subjects and identities.

    One that is there keeps its rights, so that users of a cluster can share it.
    """
    from pyarrow import fs

    if not isinstance(files, fs.LocalFileSystem):
        files.create_dir(root, recursive=True)
    elif not os.path.isdir(root):
        os.makedirs(os.path.dirname(root) or ".", exist_ok=True)
        with contextlib.suppress(FileExistsError):  # another worker made it
            os.mkdir(root, 0o700)


def file_in(path: str, name: str) -> str:
    """Return the path of a file in a folder; the query of a URI stays at its end."""
    folder, mark, query = path.partition("?") if "://" in path else (path, "", "")
    return f"{folder}/{name}{mark}{query}"


def read_manifest(path: str) -> dict[str, Any]:
    """Return the manifest of a result.

    Raises:
        OSError: There is none.
        ValueError: It is damaged, or of a newer version.
    """
    files, root = open_folder(path)
    with files.open_input_stream(f"{root}/{MANIFEST}") as stream:
        text = stream.read(_MAX_MANIFEST + 1)
    damaged = ValueError(f"{shown_path(path)}/{MANIFEST} is not the manifest of an audit")
    try:
        if len(text) > _MAX_MANIFEST:
            raise damaged
        manifest: Any = json.loads(text)
        schema = manifest["schema"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise damaged from None
    if type(schema) is int and schema > TABLES_VERSION:
        raise ValueError(
            f"{shown_path(path)} was written by a newer version of subtrie "
            f"(schema {schema}, this version reads {TABLES_VERSION})"
        )
    if type(schema) is not int or not _is_well_formed(manifest):
        raise damaged
    found: dict[str, Any] = manifest
    return found


def _is_well_formed(manifest: dict[str, Any]) -> bool:
    """Return whether a manifest has the fields of one, and names only files in its own folder."""
    tables, stream = manifest.get("tables", {}), manifest.get("stream", {})
    if not isinstance(tables, dict) or not isinstance(stream, dict):
        return False
    partials = stream.get("partials", [])
    if not isinstance(partials, list) or not all(
        isinstance(each, dict) for each in tables.values()
    ):
        return False
    rows = [each.get("rows") for each in tables.values()]
    names = [*partials, *(each.get("file") for each in tables.values())]
    planes = manifest.get("planes", [])
    if not isinstance(planes, list) or not all(isinstance(plane, str) for plane in planes):
        return False
    others = {k: v for k, v in manifest.items() if k not in ("tables", "stream", "planes")}
    if not all(type(value) is int for value in others.values()):
        return False
    return all(type(each) is int and each >= 0 for each in rows) and all(
        isinstance(name, str) and re.fullmatch(_TABLE_FILE, name) for name in names
    )


def stage_file(path: str, staging: str, local: str, name: str) -> None:
    """Copy a complete local file into the hidden folder of a run; runs in a worker."""
    files, root = open_folder(path)
    _make(files, root)
    folder = f"{root}/{staging}"
    files.create_dir(folder, recursive=True)
    part = f"{folder}/.{uuid.uuid4().hex}"
    with open(local, "rb") as source, files.open_output_stream(part) as target:
        while block := source.read(1 << 20):
            target.write(block)
    files.move(part, f"{folder}/{name}")


def rows_of_table(path: str, file: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Iterate over the rows of a table, reading one batch at a time."""
    import pyarrow.parquet as pq

    files, root = open_folder(path)
    with pq.ParquetFile(files.open_input_file(f"{root}/{file}")) as opened:
        _check_table(path, file, opened.schema_arrow, columns)
        for batch in opened.iter_batches(batch_size=4096, columns=list(columns)):
            try:
                rows = rows_of_batch(batch)
            except (OverflowError, UnicodeDecodeError) as error:
                raise ValueError(f"{shown_path(path)}/{file} is damaged: {error}") from None
            yield from rows


def read_columns(path: str, file: str, columns: Sequence[str]) -> pa.Table:
    """Return some columns of a table."""
    import pyarrow.parquet as pq

    files, root = open_folder(path)
    with pq.ParquetFile(files.open_input_file(f"{root}/{file}")) as opened:
        _check_table(path, file, opened.schema_arrow, columns)
        return opened.read(columns=list(columns))


def _check_table(path: str, file: str, found: pa.Schema, columns: Sequence[str]) -> None:
    """Raise ``ValueError`` if a file has not the columns of its table, which its name tells."""
    wanted = arrow_schema(TABLE_COLUMNS.get(file.rpartition("-")[0], ()))
    for name in columns:
        place = found.get_field_index(name)
        known = wanted.get_field_index(name)
        if place < 0 or (known >= 0 and found.field(place).type != wanted.field(known).type):
            raise ValueError(
                f"{shown_path(path)}/{file} is not a table of an audit: column {name} is missing "
                "or of another type"
            )


def save_partials(path: str, staging: str, rows: Iterable[pa.RecordBatch]) -> tuple[str, int]:
    """Write partials to the hidden folder of a run; return the file and the number of its rows.

    Args:
        path: The directory of the run.
        staging: The name of the hidden folder.
        rows: Partials as ``PARTIAL_ROWS``.
    """
    import pyarrow.parquet as pq

    name, count = PARTIALS_FILE.format(uuid.uuid4().hex[:12]), 0
    with tempfile.TemporaryDirectory() as local:
        file = os.path.join(local, "partials")
        with pq.ParquetWriter(file, arrow_schema(PARTIAL_ROWS), compression="zstd") as writer:
            for batch in rows:
                writer.write_batch(batch)
                count += sum(batch.column("rows").to_pylist())
        stage_file(path, staging, file, name)
    return name, count


def saved_partials(path: str, name: str) -> Iterator[pa.RecordBatch]:
    """Yield the partials in a file that ``save_partials`` wrote."""
    import pyarrow.parquet as pq

    files, root = open_folder(path)
    with pq.ParquetFile(files.open_input_file(f"{root}/{name}")) as opened:
        yield from opened.iter_batches()
