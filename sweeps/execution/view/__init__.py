"""How the progress of a launch is shown: in a terminal, in a notebook, or as plain lines."""
