"""What every connector answers for itself, and what it asks at its start."""
