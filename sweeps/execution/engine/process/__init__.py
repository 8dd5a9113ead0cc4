"""The driver's side of the engine's process: started, heard, found sick, ended with all it made."""
