"""Spark sessions: local, on a cluster, through Connect, and what they send to workers."""
