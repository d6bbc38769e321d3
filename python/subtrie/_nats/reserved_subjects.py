"""Subjects and queue names that nats-server keeps for itself, and the clients' inboxes."""

from __future__ import annotations

#: First token of the reply subjects that client libraries make.
INBOX = "_INBOX"

#: A queue group that the broker keeps for itself.
SYSTEM_QUEUE = "_sys_"

#: Subjects a client may not publish to: gateways, and the groups of JetStream's consensus.
RESERVED_SUBJECTS = ("_GR_.", "$GR.", "$NRG.")

#: Reply subjects a client may not name: service imports, JetStream's acknowledgements, gateways.
RESERVED_REPLIES = ("_R_.", "$JS.ACK.", "_GR_.", "$GR.")
