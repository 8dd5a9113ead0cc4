"""What is recorded of trials and sweeps, as validated values that writers and readers share."""
