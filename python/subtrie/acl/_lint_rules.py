"""The lint rules: code, level, what each finds, why it matters, and what to write instead."""

from __future__ import annotations

from typing import NamedTuple


class LintRule(NamedTuple):
    """One lint rule.

    Attributes:
        code: its name in findings, options and comments.
        level: ``error``, ``warning`` or ``note``: of its findings, or the highest of them.
        summary: what it finds, one sentence.
        why: why it matters.
        instead: what to write instead.
        microbus: True if it applies to the subjects of Microbus only.
    """

    code: str
    level: str
    summary: str
    why: str
    instead: str
    microbus: bool = False


_RULES = (
    LintRule(
        "plane-wildcard", "error", "An allow rule spans every plane.",
        "A plane separates deployments that share a broker; such a rule crosses them.",
        "Name the plane as the first token.", microbus=True,
    ),
    LintRule(
        "danger", "error", "An allow rule reaches the trust root, port 666.",
        "Security tokens are issued on port 666: who may publish there can ask for any identity.",
        "Write 'safe' as the second token; name the host if the trust root itself is meant.",
        microbus=True,
    ),
    LintRule(
        "no-authorization", "error", "The broker has no authorization.",
        "Every connection may publish and subscribe to everything in the account $G.",
        "Define users under authorization or accounts.",
    ),
    LintRule(
        "no-auth-user", "error", "A connection without credentials is a user.",
        "Who reaches the port may do what this user may: an error if that is everything.",
        "Remove no_auth_user, or give that user the entries that everyone may have.",
    ),
    LintRule(
        "not-determined", "error", "The permissions of users are not in the input.",
        "What they may do is not known; the exit code is 2 as long as this is reported.",
        "Give their JWTs (a store of nsc, a .creds file), or --account-jwt.",
    ),
    LintRule(
        "dead", "error", "An entry matches or denies nothing.",
        "It has no effect, and may not say what its author meant.",
        "Remove it, or correct its pattern.",
    ),
    LintRule(
        "size", "error", "With a user JWT of these rules, CONNECT exceeds the control line.",
        "The broker closes connections whose CONNECT is longer than its control line.",
        "Merge rules (subtrie acl minimise), or raise max_control_line.",
    ),
    LintRule(
        "expired", "error", "The token has expired.",
        "No client can connect with it.",
        "Sign it again.",
    ),
    LintRule(
        "revoked", "error", "The account has revoked the user.",
        "No client can connect with the token. Reported with --account-jwt.",
        "Sign it again, or remove it.",
    ),
    LintRule(
        "not-yet-valid", "warning", "The token is not valid yet.",
        "No client can connect with it before that time.",
        "Compare the clocks, or wait.",
    ),
    LintRule(
        "shadowed", "warning", "An allow rule is denied completely.",
        "It grants nothing: a deny takes precedence.",
        "Remove the rule, or narrow the deny.",
    ),
    LintRule(
        "unbounded-depth", "warning", "A subscribe rule ends in '*' and no deny bounds its depth.",
        "Whether a deeper pattern may be subscribed to is not determined by the rules.",
        "Deny the pattern with '.>' after it, as the finding says.",
    ),
    LintRule(
        "inbox", "warning", "A subscribe rule receives replies to other clients.",
        "Replies hold what was asked for, and their subjects let others answer.",
        "Give each client its own inbox prefix, and allow that one only.",
    ),
    LintRule(
        "allow-responses", "warning", "Replies may be sent whatever the lists say.",
        "The sender of a message chooses the reply subject, also one that is denied.",
        "Allow the reply subjects in the publish list.",
    ),
    LintRule(
        "redundant", "note", "A rule changes nothing.",
        "The other rules grant or deny the same.",
        "Remove it.",
    ),
    LintRule(
        "unchecked", "warning", "There are too many rules to compare each with all others.",
        "Dead, shadowed and redundant rules were not looked for.",
        "Merge rules (subtrie acl minimise), or split the users.",
    ),
)  # fmt: skip

#: The lint rules by code.
LINT_RULES: dict[str, LintRule] = {each.code: each for each in _RULES}
