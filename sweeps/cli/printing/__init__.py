"""What the terminal shows: values become tables and sentences here, nothing is computed."""
