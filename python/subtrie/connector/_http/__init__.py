"""Messages: live objects within the process, HTTP/1.1 bytes between processes."""
