"""The examples of the other files show each behaviour rule both kept and broken."""

from __future__ import annotations

import pytest
import test_conversation
import test_streaming_rules
import test_subscription_rules
from conversation_steps import cases

from subtrie.wire import conversation

TABLES = (
    test_conversation.test_one_connection,
    test_conversation.test_a_client_and_its_server,
    test_streaming_rules.test_rules_of_clients,
    test_subscription_rules.test_rules_of_subscriptions,
)
#: The rules whose two examples stand in a test of their own.
ELSEWHERE = {
    "S3-009", "S3-010", "S3-011", "S3-012", "S3-013", "S3-014", "S3-015", "S3-016", "S3-017",
    "S3-018", "S3-019", "S3-020", "S3-022", "S4-036", "S4-037",
}  # fmt: skip


@pytest.mark.requirement("A72")
def test_every_rule_has_been_seen_kept_and_broken():
    rows = {row for row, *_ in conversation._rules(1, 1, 1, True)}
    rows |= {row for row, *_ in conversation._streaming()}
    assert len(rows) == 57
    seen = {(values[0], values[-1]) for test in TABLES for values in cases(test)}
    wanted = {(row, word) for row in rows - ELSEWHERE for word in ("kept", "broken")}
    assert wanted <= seen, sorted(wanted - seen)
