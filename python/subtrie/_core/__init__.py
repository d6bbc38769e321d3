"""The engine in use, errors, and the types of both engines, which the public modules share."""
