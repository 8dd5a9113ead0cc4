"""Each file adds one kind of thing to capsweep, as a user or a member of the package would."""
