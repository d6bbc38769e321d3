"""Work that is repeated for a long time must not take more and more memory."""
