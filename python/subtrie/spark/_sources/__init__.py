"""Data sources of Spark: logs, captures and snapshots as rows of ``events``."""
