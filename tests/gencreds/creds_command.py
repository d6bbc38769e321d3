"""``subtrie gencreds`` and its files in the working directory, for its tests."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner
from operators import Operator
from source_trees import HEAD

from subtrie._cli.app import app
from subtrie._nats.creds_file import format_creds

ORDERS = HEAD + (
    'stock = Client("stock.shop")\n@stock.call("GET", "/items/{id}")\nasync def item(id): ...\n'
    "async def f(thing):\n    await stock.item(orders, thing)\n"
    '    await orders.request("POST", f"https://ledger.shop/entries/{thing}")\n'
)
TWO = {"orders.py": ORDERS, "stock.py": HEAD.replace("orders", "stock")}


def run(*words: object, **options: object):
    arguments = ["gencreds", *map(str, words)]
    done = CliRunner().invoke(app, arguments, **options)  # type: ignore[arg-type]
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def seed_file(seed: str, name: str = "account.nk", mode: int = 0o600) -> Path:
    path = Path(name)
    path.write_text(seed + "\n")
    path.chmod(mode)
    return path


def written_creds(user: tuple[str, str]) -> Path:
    """Write the creds of the service orders.shop: a JWT and a seed."""
    path = Path("orders.shop_nats.creds")
    path.write_text(format_creds(*user))
    path.chmod(0o600)
    return path


def account_seed(operator: Operator) -> str:
    return operator.account.seed.decode()


def files_here() -> set[str]:
    return {
        str(each) for each in Path().rglob("*") if each.is_file() and "source" not in each.parts
    }
