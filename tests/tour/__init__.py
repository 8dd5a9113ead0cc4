"""README's and the tour's commands in a terminal of 80 and of 120 columns, and what is seen."""
