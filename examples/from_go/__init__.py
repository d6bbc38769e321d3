"""Example services of Go Microbus, ported to Python by the page ``docs/howto/from-go.md``."""
