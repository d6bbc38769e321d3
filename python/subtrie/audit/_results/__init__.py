"""Uses of a finished run: tables of a lake, lines of a row, differences, expectations."""
