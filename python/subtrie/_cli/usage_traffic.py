"""Read the traffic of users from the result of an audit, without Spark."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from ..acl import Traffic
from .permission_files import BadFile

if TYPE_CHECKING:
    from ..audit import Run

_AGAIN = "make it with: subtrie audit LOG --rules FILE --out RUN"


def read_traffic(run: str) -> tuple[dict[str, Traffic], str]:
    """Return the traffic of each user, and the period that it is from.

    Args:
        run: the directory that ``subtrie audit --out`` wrote.

    Raises:
        BadFile: There is no result, or it was made without what is needed.
    """
    try:
        from ..audit import OutputFolderError, open_run

        try:
            result = open_run(run)
        except OutputFolderError:
            message = "not a result of subtrie audit --out, or one that is damaged or newer"
            raise BadFile(f"{run}: {message}; {_AGAIN}") from None
        for table in ("flows", "permission_usage"):
            result.count(table)
        if not result.count("flows") and result.counters["published"]:
            raise BadFile(
                f"{run}: this run does not tell which rules were used, as it was made without "
                f"--rules and without --answers; {_AGAIN}"
            )
        return Traffic.of_tables(result.rows, result.summary["planes"]), _period(result)
    except ImportError as error:
        raise BadFile(f"--traffic needs {error.name}: pip install 'subtrie[audit,cli]'") from None
    except (FileNotFoundError, NotADirectoryError):
        raise BadFile(f"{run}: not a result of subtrie audit --out; {_AGAIN}") from None
    except KeyError as error:
        raise BadFile(
            f"{run}: this run is of an older version and has no table {error}; {_AGAIN}"
        ) from None
    except (OSError, ValueError) as error:
        raise BadFile(str(error)) from None


def _period(result: Run) -> str:
    found: list[datetime | None] = []
    for row in result.rows("flows"):
        found += (row["first"], row["last"])
    for row in result.rows("subscriptions"):
        found += (row["start"], row["end"] or row["start"])
    if not found:
        return "no traffic"
    times = [time for time in found if time is not None]
    if not times:
        return "at unknown times"
    first, last = min(times), max(times)
    return f"{first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} UTC"
