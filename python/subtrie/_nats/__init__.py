"""Formats and constants of NATS and Microbus: JWTs, nkeys, creds files, durations, ports.

Private: used by ``acl``, ``gencreds`` and ``connector``, which add their own errors and rules.
"""
