"""Chaos: connectors over a cluster of real brokers, behind proxies that inject faults."""
