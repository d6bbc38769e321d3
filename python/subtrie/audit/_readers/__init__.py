"""Logs, captures and snapshots, read as blocks, ranges and rows."""
