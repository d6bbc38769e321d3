"""The table of commands. A command's module is imported when it runs, so that help is fast."""

from __future__ import annotations

from importlib import import_module

import click

from .command_group import CommandGroup

#: The groups in the order of help, with their commands and summaries. A command is in the module of
#: its name, as an object of its name.
GROUPS = {
    "Services": {
        "run": "Run the connectors of a Python module.",
        "call": "Send a request over the bus, and print the response.",
        "health": "Ask whether a service is up, within a second: for probes.",
        "gencreds": "Derive least-privilege permissions from source code.",
    },
    "Subjects": {
        "tour": "Show what subtrie does, in six commands.",
        "check": "Validate subjects, patterns and names, and classify subjects.",
        "encode": "Encode URLs as subjects, or routes as subscription patterns.",
        "decode": "Decode Microbus subjects into their parts.",
        "who": "List the subscriptions that match a subject.",
    },
    "Permissions": {
        "why": "Decide whether a publish or subscribe is permitted.",
        "acl": "Show, compare, lint, minimise and test permissions.",
    },
    "Traffic": {
        "audit": "Audit a trace log: calls, undelivered and spoofed messages.",
        "report": "Show an audit as a page, Markdown or JSON; compare two runs.",
        "wire": "Decode protocol operations from captures, logs and snapshots.",
        "tap": "Record the traffic between clients and a broker.",
    },
    "For implementers": {
        "conformance": "Run conformance vectors against an engine.",
        "completion": "Print the completion script of a shell.",
    },
}
#: The commands of the commands that are groups, so that help need not import them.
SUBCOMMANDS = {
    "acl": "diff flows lint minimise need rule show streams test usage who why",
    "report": "html markdown json diff findings lines",
}
COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}


class _Commands(CommandGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def find_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f".{cmd_name}", __package__), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by group, from the tables above: help imports no command."""
        width = max(map(len, COMMANDS))
        for group, commands in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(width), _line(name)) for name in commands])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] == "help":
            if not args[1:]:
                click.echo(ctx.get_help())
                ctx.exit()
            args = [*args[1:], "--help"]
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"see '{ctx.command_path} --help'"
            raise click.UsageError(f"there is no command {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)


def _line(name: str) -> str:
    inner = SUBCOMMANDS.get(name, "").replace(" ", ", ")
    return f"{COMMANDS[name][:-1]}: {inner}." if inner else COMMANDS[name]


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="subtrie")
def app() -> None:
    """Parse and validate subjects, match subscriptions, check permissions, audit traffic.

    For NATS, and for the Microbus service bus over it.

    Exit codes: 0 yes or done, 1 no, 2 bad input, 130 interrupted. Start with: subtrie tour
    """
