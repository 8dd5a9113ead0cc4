"""What a trained network draws, as arrays and as pictures."""
