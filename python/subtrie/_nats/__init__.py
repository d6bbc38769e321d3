"""Formats and constants of NATS and Microbus: JWTs, nkeys, creds files, paths, limits.

Private: used by ``acl``, ``gencreds`` and ``connector``, which add their own errors and rules.
"""
