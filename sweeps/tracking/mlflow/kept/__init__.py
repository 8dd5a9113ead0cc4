"""What a server said of final records, kept on this machine so that it is asked only once."""
