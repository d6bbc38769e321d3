"""``subtrie audit``: audit the traffic in a broker's trace log."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from .._core.errors import SubtrieError
from .._core.extras import install_command
from .audit_answers import AnswerOptions, asks, exit_code, print_proposal
from .audit_follow import Following, check_following, followed, noted
from .audit_tables import print_failures, print_json, print_tables
from .report import write_report
from .stage_progress import StageProgress
from .stream import bad_input, printable, reader_may_leave

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from ..audit import Run

#: The units of ``--memory``, as the JVM writes them.
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@click.command()
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with every table.")
@click.option("--out", type=click.Path(), help="Write the tables to this directory, as Parquet.")
@click.option(
    "--format",
    "lake",
    type=click.Choice(["parquet", "delta", "iceberg"]),
    default="parquet",
    show_default=True,
    help="Write Delta tables into --out, or Iceberg tables into the namespace --out.",
)
@click.option("--master", help="Run on this Spark master, as spark://host:7077.")
@click.option("--remote", help="Run on this Spark Connect server, as sc://host:15002.")
@click.option(
    "--conf",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set this of Spark with --master, as spark.executor.memory=2g; may be repeated.",
)
@click.option("--plane", "planes", multiple=True, help="Audit only these planes (default: detect).")
@click.option(
    "--rows", default=20, show_default=True, help="Rows to print of each table; 0 prints all."
)
@click.option("--long", is_flag=True, help="Print all tables and columns.")
@click.option(
    "--window",
    type=click.IntRange(min=1),
    help="Divide the call graph into periods (s).",
)
@click.option(
    "--redact",
    "slots",
    multiple=True,
    type=click.Choice(["path", "id"]),
    help="Replace paths or ids in subjects by digests; may be repeated.",
)
@click.option(
    "--expect",
    "expected",
    multiple=True,
    metavar="FILE|builtin",
    help="Check expectations; exit 1 if the tables do not satisfy one; may be repeated.",
)
@click.option(
    "--report",
    "page",
    type=click.Path(dir_okay=False),
    help="Write the report there, as one HTML page.",
)
@click.option("--follow", is_flag=True, help="Audit logs that grow, until Ctrl-C or --until-idle.")
@click.option(
    "--until-idle",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="With --follow: stop when nothing was new for so long.",
)
@click.option(
    "--checkpoint",
    type=click.Path(file_okay=False),
    help="With --follow on Spark: the directory of the progress (default: OUT.checkpoint).",
)
@click.option(
    "--memory",
    metavar="SIZE",
    help="Keep so much in memory, as 512m, and the rest on disk (default 256m); on Spark, the heap "
    "size of the JVM (default 1g).",
)
@asks
def audit(
    logs: tuple[str, ...],
    as_json: bool,
    out: str | None,
    lake: str,
    master: str | None,
    remote: str | None,
    settings: tuple[str, ...],
    planes: tuple[str, ...],
    rows: int,
    long: bool,
    window: int | None,
    slots: tuple[str, ...],
    expected: tuple[str, ...],
    page: str | None,
    follow: bool,
    until_idle: float | None,
    checkpoint: str | None,
    memory: str | None,
    read_questions: Callable[[], AnswerOptions],
) -> None:
    r"""Audit the traffic in trace logs of nats-server.

    Prints the call graph and the replies, and the subjects that were undelivered, malformed,
    refused or spoofed. LOG is the trace log of one nats-server (started with -DV); give one log per
    broker. It may also be a capture of subtrie tap, or a saved /connz, /subsz or /routez. Each line
    is counted once; lines that nats-server did not write are listed as unparseable. This process
    reads logs of any size, on all cores. With --master (local[*] among others) or --remote Spark
    reads them, and LOG and --out must be on a file system that all workers share. Exit 0: the logs
    were read; 1: an expectation is not satisfied, or a table of --fail-on has a row; 2: bad input,
    or no operation was read.

    \b
    Examples:
      subtrie audit trace.log --report report.html
      subtrie audit 'logs/*.log.gz' --rules nats.conf --code services/ --out run
    """
    try:
        import pyarrow  # noqa: F401

        from ..audit._results.expectations import failures, read_expectations
    except ImportError as error:
        _bad(f"the audit needs {error.name}: {install_command('audit', 'cli')}")
    if master is not None and remote is not None:
        _bad("give --master or --remote, not both")
    if settings and master is None:
        _bad("--conf needs --master")
    if not all("=" in each for each in settings):
        _bad("--conf is NAME=VALUE")
    if lake != "parquet" and out is None:
        _bad(f"--format {lake} needs --out")
    given = logs
    logs = _log_files(logs)
    size = sum(_size(path) for path in logs)
    _check_distinct(logs)
    for plane in planes:
        _check_plane(plane)
    follows = follow or until_idle is not None or checkpoint is not None
    on_spark = bool(master or remote or lake != "parquet")
    kept = None if memory is None else _bytes(memory)
    if page is not None and not os.path.isdir(os.path.dirname(os.path.abspath(page))):
        _bad(f"--report {page}: its folder does not exist")

    with StageProgress() as progress, contextlib.ExitStack() as stack:
        started: list[SparkSession] = []

        def start() -> SparkSession:
            from ..spark._lake import check_lake

            progress.step("starting Spark")
            conf = dict(each.split("=", 1) for each in settings)
            spark = _session(master, remote, memory or "1g", size, conf)
            progress.watch(spark)
            if lake != "parquet":
                check_lake(spark, lake)
            started.append(spark)
            return spark

        def once(asked: AnswerOptions, options: dict[str, Any]) -> Run:
            """Audit the logs as they are now, in this process or on Spark."""
            how: dict[str, Any] = {
                "out": out if lake == "parquet" else None, **options, "questions": asked.questions,
                "selection": asked.selection, "step": progress.step,
            }  # fmt: skip
            if on_spark:
                from ..spark import audit as audit_on_spark

                return audit_on_spark(start(), logs, **how)
            from ..audit import audit as audit_here

            how["progress"] = progress.update
            if kept is not None:
                how["memory"] = kept
            return audit_here(logs, **how)

        try:
            asked = read_questions()
            expectations = [each for source in expected for each in read_expectations(source)]
            key = os.environ.get("SUBTRIE_REDACT_KEY")
            hidden = None if key is None else key.encode()
            options = {"planes": planes, "window": window, "redact": slots, "redact_key": hidden}
            if follows:
                what = Following(
                    given, out, checkpoint, until_idle, page, asked.fail_on, as_json,
                    asked.questions, options,
                )  # fmt: skip
                check_following(what, follow, asked.selection, lake, on_spark=on_spark)
                what = noted(what)  # a log may be rotated before Spark has started
                spark = start() if on_spark else None
                progress.stop()
                result: Run = stack.enter_context(followed(what, spark))
            else:
                result = stack.enter_context(once(asked, options))
            failed = None
            if expectations:
                progress.step("checking expectations")
                failed = failures(result, expectations)
            if lake != "parquet":
                from ..spark import write_lake

                progress.step(f"writing {lake} tables")
                write_lake(started[-1], result, lake, str(out))
            if page is not None and not follow:
                progress.step("writing the report")
                write_report(result, out if lake == "parquet" else None, logs, page)
        except OSError as error:
            named = error.filename is not None and error.strerror is not None
            _bad(f"{error.filename}: {error.strerror}" if named else str(error))
        except (SubtrieError, ValueError) as error:
            _bad(str(error))
        except KeyboardInterrupt:
            _interrupted()
        except Exception as error:
            if not on_spark:
                raise
            _failed_on_spark(error)
        progress.stop()
        with reader_may_leave():
            if as_json:
                print_json(result, failed)
            else:
                print_tables(result, rows, long=long, windowed=window is not None)
                if not asked.questions.automatic:
                    print_proposal(result, asked.rules)
                if failed is not None:
                    print_failures(failed)
                if out is not None:
                    print(f"\ntables written to {printable(out)}")
                if page is not None:
                    print(f"\nreport written to {printable(page)}")
        code = exit_code(result, asked.fail_on, logs)
    raise SystemExit(code or (1 if failed else 0))


def _session(
    master: str | None, remote: str | None, memory: str, size: int, settings: dict[str, str]
) -> SparkSession:
    """Return the session that is asked for; workers elsewhere are sent this package."""
    from ..spark import cluster_session, connect_session, local_session, ship

    if master is None and remote is None:
        return local_session(memory=memory, log_bytes=size)
    if remote is not None:
        spark = connect_session(remote)
    else:
        spark = cluster_session(str(master), memory=memory, settings=settings)
    if remote is not None or not str(master).startswith("local"):
        ship(spark)
    return spark


def _failed_on_spark(error: Exception) -> None:
    """Say why a job failed or Spark did not start, and exit; raise what is neither."""
    from ..spark import SparkStartError
    from ..spark._sessions.failure import failure_text, was_interrupted

    if was_interrupted(error):
        _interrupted()
    told = str(error) if isinstance(error, SparkStartError) else failure_text(error)
    if told is None:
        raise error
    _bad(*told.split("\n"))  # what Spark printed has several


def _bytes(text: str) -> int:
    """Return a size such as ``512m`` in bytes, or exit with 2."""
    number, unit = (text[:-1], text[-1:].lower()) if text[-1:].isalpha() else (text, "")
    factor = _UNITS.get(unit, 1 if not unit else 0)
    if not number.isdecimal() or not int(number) * factor:
        _bad(f"--memory {text} is not a size: write 512m or 2g")
    return int(number) * factor


def _interrupted() -> NoReturn:
    """Say that nothing was written, and exit with 130, as shells do for SIGINT."""
    print("subtrie audit: interrupted; nothing was written", file=sys.stderr)
    raise SystemExit(130) from None


def _bad(*lines: str) -> NoReturn:
    """Print the message and exit with 2."""
    bad_input("audit", *lines)


def _log_files(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files of paths, directories and shell patterns, or exit with 2."""
    from ..audit._readers.log_files import log_files

    try:
        return tuple(log_files(paths))
    except OSError as error:
        _bad(str(error))


def _size(path: str) -> int:
    """Return the size of a log that has lines of nats-server, or exit with 2."""
    from ..audit._readers.log_files import input_kind, log_size
    from ..audit._readers.log_reader import holds_server_lines

    try:
        size = log_size(path)
        if input_kind(path) == "log" and not holds_server_lines(path):
            _bad(f"{path}: no line of nats-server among the first; is it a trace log?")
        return size
    except ValueError as error:  # JSON that is not a snapshot
        _bad(str(error))
    except OSError as error:
        _bad(f"{path}: {error.strerror or error}")


def _check_distinct(logs: tuple[str, ...]) -> None:
    """Refuse a log that is given twice: it would count as two brokers with the same traffic."""
    from ..audit._readers.log_files import resolve_path

    seen: set[str] = set()
    for path in logs:
        if resolve_path(path) in seen:
            _bad(f"{path} is given twice; give one log per broker")
        seen.add(resolve_path(path))


def _check_plane(plane: str) -> None:
    """Refuse a plane that is not valid."""
    from ..microbus import check_plane

    try:
        check_plane(plane)
    except SubtrieError as error:
        _bad(str(error))
