"""``subtrie completion``: print the script by which a shell completes the command."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    r"""Print the completion script of SHELL, which completes verbs, options and their values.

    \b
    Examples:
      eval "$(subtrie completion bash)"              # in ~/.bashrc
      eval "$(subtrie completion zsh)"               # in ~/.zshrc
      subtrie completion fish | source               # in ~/.config/fish/config.fish
    """
    from .app import app

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"click has no completion for {shell}")
    click.echo(found(app, {}, "subtrie", "_SUBTRIE_COMPLETE").source())
