"""Partials: what the tables need of events, summed where the events are read; they add."""
