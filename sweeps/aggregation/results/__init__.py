"""From records to values by arm and proposal."""
