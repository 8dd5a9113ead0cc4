"""Ray started for a launch: in time, or while the rest of the launch is still being loaded."""
