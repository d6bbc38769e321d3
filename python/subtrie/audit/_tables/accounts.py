"""The accounts that subscribe each pattern.

Accounts are apart: a message is matched with the subscriptions of its own account. If all
subscriptions name one account, it is that of each connection whose account is not told; if they
name several, an account that is not told can be any.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def only_account(accounts: pa.ChunkedArray) -> str | None:
    """Return the account that subscriptions name, if it is one."""
    import pyarrow.compute as pc

    known = pc.unique(accounts).drop_null()
    name: str | None = known[0].as_py() if len(known) == 1 else None
    return name


def told(table: pa.Table, only: str | None) -> pa.Table:
    """Return rows with an account in place of one that is not told, if there is only one."""
    import pyarrow.compute as pc

    if only is None or not table["account"].null_count:
        return table
    place = table.schema.get_field_index("account")
    return table.set_column(place, "account", pc.fill_null(table["account"], only))


class Accounts:
    """The accounts that subscribe each pattern.

    Args:
        groups: Rows with ``account`` and ``number``, that of a pattern.
        count: The number of patterns.
    """

    def __init__(self, groups: pa.Table, count: int) -> None:
        import pyarrow.compute as pc

        self._groups, self._count = groups, count
        #: The accounts that are known.
        self.known: pa.Array = pc.unique(groups["account"]).drop_null()

    @cached_property
    def _apart(self) -> bool:
        """Whether there are several accounts, or some that are not known beside one."""
        untold: int = self._groups["account"].null_count
        return len(self.known) + (untold > 0) > 1

    @cached_property
    def _subscribed(self) -> tuple[Any, Any]:
        """The codes of account and pattern, ascending, and the patterns of unknown accounts."""
        import numpy as np

        codes, numbers = self.codes(self._groups["account"]), self._groups["number"].to_numpy()
        anywhere = np.zeros(self._count, dtype=bool)
        anywhere[numbers[codes == 0]] = True
        return np.unique(numbers.astype(np.int64) * (len(self.known) + 2) + codes), anywhere

    def codes(self, accounts: pa.Array | pa.ChunkedArray) -> Any:
        """Return a number for each account: 0 if it is not told, 1 if it subscribes nothing."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        if isinstance(accounts, pa.ChunkedArray):
            accounts = accounts.combine_chunks()
        found = pc.fill_null(pc.index_in(accounts, value_set=self.known), -1)
        codes = found.to_numpy(zero_copy_only=False).astype(np.int64) + 2
        codes[pc.is_null(accounts).to_numpy(zero_copy_only=False)] = 0
        return codes

    def own(self, rows: Any, numbers: Any, accounts: pa.Array) -> Any | None:
        """Return which matches are those of the account of each subject; None for all.

        Args:
            rows: For each match, the number of its subject.
            numbers: For each match, the number of its pattern.
            accounts: The account of each subject.
        """
        import numpy as np

        codes = self.codes(accounts)
        if not self._apart and (not len(self.known) or not (codes == 1).any()):
            return None
        subscribed, anywhere = self._subscribed
        of_rows = codes[rows]
        pairs = numbers.astype(np.int64) * (len(self.known) + 2) + of_rows
        return np.isin(pairs, subscribed) | (of_rows == 0) | anywhere[numbers]

    def patterns_of(self, account: str | None) -> Any | None:
        """Return the numbers of the patterns that an account can have subscribed; None for all."""
        import numpy as np
        import pyarrow as pa

        code = int(self.codes(pa.array([account], pa.string()))[0])
        if code == 0 or (not self._apart and code != 1):
            return None
        codes, numbers = self.codes(self._groups["account"]), self._groups["number"].to_numpy()
        return np.unique(numbers[(codes == code) | (codes == 0)])
