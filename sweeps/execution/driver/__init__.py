"""What the stages of a launch use: a look at what is there, what is shown, what guards it."""
