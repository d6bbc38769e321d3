"""A peer for the interoperability tests: a service and a caller on the command line."""
