"""The stage of a launch that makes evaluations from kept weights."""
