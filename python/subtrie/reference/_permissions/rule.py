"""A rule as tokens: a pattern and a queue."""

from __future__ import annotations

from typing import NamedTuple

Tokens = tuple[str, ...]

#: The queue of a rule that applies with every queue and without one.
ANY = None
#: The queue of a query without a queue; a rule never has it.
WITHOUT: Tokens = ()


class Rule(NamedTuple):
    """A pattern and the queues to which it applies."""

    subject: Tokens
    queue: Tokens | None = ANY

    def __str__(self) -> str:
        subject = ".".join(self.subject)
        return f"{subject} {'.'.join(self.queue)}" if self.queue else subject


def read(text: str) -> Rule:
    """Return the rule of validated text."""
    subject, _, queue = text.partition(" ")
    return Rule(tuple(subject.split(".")), tuple(queue.split(".")) if queue else ANY)


def has_tail(tokens: Tokens) -> bool:
    """Return whether the pattern ends with ``>``."""
    return tokens[-1:] == (">",)


def at_length(tokens: Tokens, length: int) -> Tokens | None:
    """Return the pattern of the matching subjects of a length, without ``>``, or None."""
    if has_tail(tokens):
        head = tokens[:-1]
        return head + ("*",) * (length - len(head)) if length > len(head) else None
    return tokens if length == len(tokens) else None


def token_covers(pattern: Tokens, other: Tokens) -> bool:
    """Return whether a pattern covers another of the same length; neither has ``>``."""
    return all(token in ("*", wanted) for token, wanted in zip(pattern, other, strict=True))


def covers_at(pattern: Tokens, other: Tokens, length: int) -> bool:
    """Return whether, at a length, both match something and the pattern covers the other one."""
    left, right = at_length(pattern, length), at_length(other, length)
    return left is not None and right is not None and token_covers(left, right)


def pattern_covers(pattern: Tokens, other: Tokens) -> bool:
    """Return whether the pattern matches every subject that the other one matches."""
    if has_tail(other) and not has_tail(pattern):
        return False
    return covers_at(pattern, other, len(other))


def queue_covers(queue: Tokens | None, other: Tokens | None) -> bool:
    """Return whether a rule for one queue applies to all queues of the other one."""
    if queue is ANY:
        return True
    if not queue or not other:
        return queue == other
    return pattern_covers(queue, other)


def covers(rule: Rule, other: Rule) -> bool:
    """Return whether a rule covers another one."""
    return pattern_covers(rule.subject, other.subject) and queue_covers(rule.queue, other.queue)


def meet_tokens(one: Tokens, other: Tokens) -> Tokens | None:
    """Return the pattern of the subjects that both match, or None."""
    tail = has_tail(one) and has_tail(other)
    heads = [len(tokens) - has_tail(tokens) for tokens in (one, other)]
    length = max(heads) if tail else max(len(one), len(other))
    if not tail:
        length = len(other) if has_tail(one) else len(one)
    if tail and heads[0] == heads[1] == 0:
        return (">",)
    left, right = at_length(one, length), at_length(other, length)
    if tail:  # up to the longer head, '>' of the shorter one stands for stars
        left, right = (_head(tokens, length) for tokens in (one, other))
    if left is None or right is None:
        return None
    met = []
    for token, wanted in zip(left, right, strict=True):
        if token != wanted and "*" not in (token, wanted):
            return None
        met.append(wanted if token == "*" else token)
    return tuple(met) + ((">",) if tail else ())


def _head(tokens: Tokens, length: int) -> Tokens:
    head = tokens[:-1]
    return head + ("*",) * (length - len(head))


def meet(rule: Rule, other: Rule) -> Rule | None:
    """Return the intersection of two rules, or None."""
    subject = meet_tokens(rule.subject, other.subject)
    if subject is None:
        return None
    if rule.queue is ANY or other.queue is ANY:
        return Rule(subject, other.queue if rule.queue is ANY else rule.queue)
    if not rule.queue or not other.queue:
        return Rule(subject, rule.queue) if rule.queue == other.queue else None
    queue = meet_tokens(rule.queue, other.queue)
    return None if queue is None else Rule(subject, queue)
