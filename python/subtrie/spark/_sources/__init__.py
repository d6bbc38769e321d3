"""Data sources: logs, captures and snapshots as rows of ``events``."""
