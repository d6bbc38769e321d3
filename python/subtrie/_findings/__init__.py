"""The record of findings of all commands, and one module for each output format."""
