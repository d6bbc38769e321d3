"""A group of commands: help with examples, and whole sentences about each command."""

from __future__ import annotations

import click


class CommandGroup(click.Group):
    """A group whose help is complete on a narrow terminal, too."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, whose examples keep their lines.

        A paragraph that begins with a backspace keeps its lines. Docstrings are raw, so theirs is
        written as an escape sequence.
        """
        command = self.find_command(ctx, cmd_name)
        if command is not None:
            command.help = (command.help or "").replace("\\b\n", "\b\n")
        return command

    def find_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, or None."""
        return super().get_command(ctx, cmd_name)

    def summaries(self, ctx: click.Context) -> list[tuple[str, str]]:
        """Return each command and the first sentence of its help."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        return [(name, each.get_short_help_str(_WHOLE)) for name, each in found if each]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with whole sentences, on several lines where one is too short."""
        with formatter.section("Commands"):
            formatter.write_dl(self.summaries(ctx))


#: Longer than the first sentence of any command, in characters.
_WHOLE = 400
