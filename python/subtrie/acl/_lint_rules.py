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
        "allow-responses", "note", "Replies may be sent whatever the lists say.",
        "The sender of a message chooses the reply subject, also one that is denied.",
        "Keep it: it is narrower than to allow all inboxes. Bound it by max and expires.",
    ),
    LintRule(
        "publish-everything", "warning", "A user may publish everything.",
        "It may answer in place of any service, and manage all streams of its account.",
        "List what it publishes (subtrie acl usage proposes it), or deny $JS.API.> and _INBOX.>.",
    ),
    LintRule(
        "jetstream-admin", "warning", "A user may change any stream or consumer of its account.",
        "A stream that is purged, deleted or changed is lost to all its readers.",
        "Allow the requests that its role needs (subtrie acl need).",
    ),
    LintRule(
        "system-account", "warning",
        "A user may manage the broker; a note if it is of the system account.",
        "The system account sees all connections, and may reload or stop servers.",
        "Keep it for operators; name no such user in no_auth_user.",
    ),
    LintRule(
        "inbox-publish", "warning", "A publish rule allows to answer any client.",
        "Who knows or guesses a reply subject answers in place of the service that was asked.",
        "Use allow_responses: it allows to answer the messages that were received.",
    ),
    LintRule(
        "open-listener", "warning", "A listener admits everyone who reaches its port.",
        "Another server brings in clients of any account; the monitoring port shows who is there.",
        "Add authorization or tls with verify; bind the monitoring port to 127.0.0.1.",
    ),
    LintRule(
        "plaintext-password", "warning", "A password is in the file as plain text.",
        "Who reads the file, a copy or its history can log in.",
        "Write its bcrypt hash (nats server passwd), or a variable of the environment.",
    ),
    LintRule(
        "mapping-unreachable", "warning", "No user may publish what a mapping makes of a subject.",
        "The lists of a user apply to the result of a mapping, so every such message is refused.",
        "Allow the result to the users that publish the subject, or remove the mapping.",
    ),
    LintRule(
        "expires-soon", "warning", "A token expires within 30 days.",
        "No client can connect with it afterwards.",
        "Sign it again in time.",
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
