"""One rule: the tokens of its pattern, and of its queue."""

from __future__ import annotations

from typing import NamedTuple

Tokens = tuple[str, ...]

#: A rule that speaks of every queue and of none.
ANY = None
#: The question about no queue; never written as a rule.
WITHOUT: Tokens = ()


class Rule(NamedTuple):
    """A pattern and the queues it speaks of."""

    subject: Tokens
    queue: Tokens | None = ANY

    def __str__(self) -> str:
        subject = ".".join(self.subject)
        return f"{subject} {'.'.join(self.queue)}" if self.queue else subject


def read(text: str) -> Rule:
    """A rule from checked text."""
    subject, _, queue = text.partition(" ")
    return Rule(tuple(subject.split(".")), tuple(queue.split(".")) if queue else ANY)


def has_tail(tokens: Tokens) -> bool:
    """Does the pattern end in ``>``?"""
    return tokens[-1:] == (">",)


def at_length(tokens: Tokens, length: int) -> Tokens | None:
    """The pattern of the subjects of this many tokens, without ``>``; None where there are none."""
    if has_tail(tokens):
        head = tokens[:-1]
        return head + ("*",) * (length - len(head)) if length > len(head) else None
    return tokens if length == len(tokens) else None


def token_covers(pattern: Tokens, other: Tokens) -> bool:
    """Of two patterns of one length, neither with a tail: is the other one inside this one?"""
    return all(token in ("*", wanted) for token, wanted in zip(pattern, other, strict=True))


def covers_at(pattern: Tokens, other: Tokens, length: int) -> bool:
    """Does the pattern match whatever the other one matches at this length, and anything at all?"""
    left, right = at_length(pattern, length), at_length(other, length)
    return left is not None and right is not None and token_covers(left, right)


def pattern_covers(pattern: Tokens, other: Tokens) -> bool:
    """Does the pattern match whatever the other one matches?"""
    if has_tail(other) and not has_tail(pattern):
        return False
    return covers_at(pattern, other, len(other))


def queue_covers(queue: Tokens | None, other: Tokens | None) -> bool:
    """Does a rule for this queue speak of all queues the other one speaks of?"""
    if queue is ANY:
        return True
    if not queue or not other:
        return queue == other
    return pattern_covers(queue, other)


def covers(rule: Rule, other: Rule) -> bool:
    """Is the other rule inside this one?"""
    return pattern_covers(rule.subject, other.subject) and queue_covers(rule.queue, other.queue)


def meet_tokens(one: Tokens, other: Tokens) -> Tokens | None:
    """The pattern of what both match."""
    tail = has_tail(one) and has_tail(other)
    heads = [len(tokens) - has_tail(tokens) for tokens in (one, other)]
    length = max(heads) if tail else max(len(one), len(other))
    if not tail:
        length = len(other) if has_tail(one) else len(one)
    if tail and heads[0] == heads[1] == 0:
        return (">",)
    left, right = at_length(one, length), at_length(other, length)
    if tail:  # at the longer head's length, the shorter one's tail is stars
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
    """The rule for what both speak of."""
    subject = meet_tokens(rule.subject, other.subject)
    if subject is None:
        return None
    if rule.queue is ANY or other.queue is ANY:
        return Rule(subject, other.queue if rule.queue is ANY else rule.queue)
    if not rule.queue or not other.queue:
        return Rule(subject, rule.queue) if rule.queue == other.queue else None
    queue = meet_tokens(rule.queue, other.queue)
    return None if queue is None else Rule(subject, queue)
