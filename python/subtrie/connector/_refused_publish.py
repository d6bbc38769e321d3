"""Message for a publish that the broker refuses: the nearest rule of the creds."""

from __future__ import annotations

from pathlib import Path

from .._engine import SubjectTrie
from .._errors import SubtrieError
from .._nats.creds_file import jwt_in_creds
from .._nats.jwt import claims_of


def publish_rules(creds: str) -> tuple[str, ...] | None:
    """Return the publish rules in the text of a creds file; None if it has none or is none."""
    token = jwt_in_creds(creds)
    if token is None:
        return None
    try:
        nats = claims_of(token, Path(), "user").get("nats") or {}
    except SubtrieError:
        return None
    allowed = (nats.get("pub") or {}).get("allow")
    if not isinstance(allowed, list):
        return None
    return tuple(each for each in allowed if isinstance(each, str))


def explained(subject: str, rules: tuple[str, ...] | None) -> str:
    """Return why a publish is refused.

    Args:
        subject: The subject, in lower case as the broker's client tells it.
        rules: The publish rules of the creds, or None if they are not known.
    """
    text = f"the broker refuses to publish to {subject}"
    if rules is None:
        return text
    trie: SubjectTrie[str] = SubjectTrie(dialect="server")
    for rule in rules:
        try:
            trie.add(rule.lower(), rule)
        except SubtrieError:
            continue
    nearest = next((miss.pattern for miss in trie.explain(subject).nearest), None)
    named = next((rule for rule in rules if rule.lower() == nearest), nearest)
    near = f", the nearest is {named}" if named is not None else ""
    return f"{text}; the creds hold {len(rules)} publish rules{near}; see subtrie why"
