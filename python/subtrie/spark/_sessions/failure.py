"""The reason of a failed job, as one line: Spark reports the error of a worker in many."""

from __future__ import annotations

import re

_RAISED = re.compile(r"^(?:[\w.]+\.)?(?P<kind>\w*(?:Error|Exception)): (?P<text>.+)$", re.MULTILINE)
#: The line of a Java exception, or of its cause.
_JAVA = re.compile(r"^(?:: |Caused by: )[\w.$]+: (?P<text>.+)$", re.MULTILINE)
_FULL = re.compile(r"No space left on device|Disk quota exceeded|File too large|disk full", re.I)
#: The errors of our own readers and writers, which name what is wrong.
_OURS = ("OSError", "FileNotFoundError", "PermissionError", "IsADirectoryError", "ValueError",
         "OutputFolderError", "RuntimeError", "ModuleNotFoundError")  # fmt: skip


def failure_text(error: BaseException) -> str | None:
    """Return the reason of a failed job, or the text of an error of bad input; else None."""
    module = type(error).__module__
    if not module.startswith(("pyspark.", "py4j.", "grpc")):
        return str(error) if isinstance(error, (ValueError, OSError)) else None
    text = str(error)
    raised = [(found["kind"], found["text"].strip()) for found in _RAISED.finditer(text)]
    told = next(((kind, what) for kind, what in reversed(raised) if kind in _OURS), None)
    if told is None:
        full = _FULL.search(text)
        causes = [found["text"].strip() for found in _JAVA.finditer(text)]
        first = next((line.strip() for line in text.splitlines() if line.strip()), "")
        reason = full[0] if full else causes[-1] if causes else first
        return f"the job failed: {reason}"
    kind, what = told
    if kind == "FileNotFoundError":
        return (
            f"a worker cannot open an input: {what}; it must not be removed while it is read, and "
            "all workers must share its file system"
        )
    if kind == "ModuleNotFoundError":
        return (
            f"the Python of the workers lacks a package: {what}; set PYSPARK_PYTHON to an "
            "interpreter that has pyarrow and pandas"
        )
    return f"the job failed: {what}"


def was_interrupted(error: BaseException | None) -> bool:
    """Return whether an error is that of a job that was cancelled by an interrupt.

    Spark raises the error of the job in place of the ``KeyboardInterrupt``.
    """
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False
