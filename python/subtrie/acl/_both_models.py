"""Decisions by both models: a plain answer only where they agree."""  # A81

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ._decision import BROKER, STRICT, Decision

BOTH = "both"


def decided(ask: Callable[[str], Decision], model: str | None = None) -> Decision:
    """Ask one model, or both; where they differ, or the broker's does not decide, nothing is.

    Args:
        ask: the question; it gets the name of a model.
        model: the model; None for both.
    """
    if model is not None:
        return ask(model)
    one, other = ask(STRICT), ask(BROKER)
    if one.determined and not (other.determined and one.allowed == other.allowed):
        word = "allows" if one.allowed else "refuses"
        more = f"the models do not agree: {STRICT!r} {word} it: {one.explanation}"
        one = dataclasses.replace(one, allowed=False, explanation=more, determined=False)
        return dataclasses.replace(one, model=BOTH, models_disagree=True)
    return dataclasses.replace(one, model=BOTH)
