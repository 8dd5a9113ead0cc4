"""The command line as a whole: its help on one screen, and what completes its words."""
