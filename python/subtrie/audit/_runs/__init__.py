"""The folder of a run: its tables and its manifest."""
