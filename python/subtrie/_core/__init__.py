"""What the public modules share: the engine in use, errors, and the types of both engines."""
