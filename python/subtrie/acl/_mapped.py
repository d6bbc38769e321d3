"""Decisions about publishing where mappings of the account apply: the lists see their result."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ._account import Account
from ._both_models import decided
from ._decision import BROKER, Decision, without_list
from ._permissions import Permissions


def may_publish(
    permissions: Permissions,
    account: Account | None,
    cluster: str | None,
    subject: str,
    model: str | None = None,
) -> Decision:
    """Decide whether a user may publish a subject, which its account may map to another.

    Args:
        permissions: the permissions of the user.
        account: the user's account; None if it is not known.
        cluster: the name of the broker's cluster, empty without one; None if it is not known.
        subject: the subject as it is published.
        model: ``strict`` or ``broker``; None for both.

    Raises:
        SubjectError: not a valid subject.
    """
    if model is None and subject.startswith("$JS.API.") and _has_wildcard(subject):
        model = BROKER  # a request may name the filter of a consumer, which a broker takes as text

    def of(subject: str) -> Callable[[str], Decision]:
        return lambda model: permissions.can_publish(subject, model=model)

    plain = decided(of(subject), model)
    outcomes = (subject,) if account is None else account.mapped(subject, cluster)
    if outcomes is None:
        why = "not determined: mappings of the account have too many possible results"
        return dataclasses.replace(plain, allowed=False, explanation=why, determined=False)
    if outcomes == (subject,):
        return plain
    found = [
        _lost(permissions, plain.model) if text is None else decided(of(text), model)
        for text in outcomes
    ]
    parts = [
        f"{'lost by a mapping' if text is None else f'mapped to {text}'}: {answer.explanation}"
        for text, answer in zip(outcomes, found, strict=True)
    ]
    several = f"mappings decide which: {'; '.join(parts)}" if len(parts) > 1 else parts[0]
    certain = all(each.determined for each in found)
    if certain and len({each.allowed for each in found}) == 1:
        return dataclasses.replace(found[0], explanation=several)
    explanation = f"not determined: {several}"
    return dataclasses.replace(found[0], allowed=False, explanation=explanation, determined=False)


def _lost(permissions: Permissions, model: str) -> Decision:
    """Decide about a message without a subject, to which the broker applies an allow list alone."""
    if permissions.publish_allow is None:
        return without_list(model)
    return Decision(False, model, "no allow entry matches what is left of the subject")


def _has_wildcard(subject: str) -> bool:
    return not {"*", ">"}.isdisjoint(subject.split("."))
