"""The verbs, by name. A verb's file is imported when it is called, so that help stays instant."""

from __future__ import annotations

from importlib import import_module

import click

# Verb to what it answers. The verb's file has its name and holds a command of that name.
VERBS = {
    "check": "What is this subject, and is it valid?",
    "encode": "The subject of a request, or the pattern of a route.",
    "decode": "The parts of a Microbus subject.",
    "who": "Who gets it? Subscriptions that a subject reaches.",
    "why": "May this be published or subscribed to, and which rule says so?",
    "acl": "Permissions shown, compared, reviewed, shortened and tested.",
    "gencreds": "What do services need? Least privilege from their source, signed.",
    "audit": "What really happened? Tables from a broker's trace log.",
    "wire": "What was said? Operations of captures, logs and snapshots.",
    "tap": "Write down what passes between clients and a broker.",
    "conformance": "Run conformance vectors against an engine.",
}


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = getattr(import_module(f".{cmd_name}", __package__), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # The list comes from the table above: help must not import Spark to describe `audit`.
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="subtrie")
def app() -> None:
    """The subject system of the Microbus service bus over NATS.

    Exit codes: 0 yes, 1 no, 2 bad input.
    """
