"""Messages, HTTP as the bus knows it: live within a process, bytes between processes."""
