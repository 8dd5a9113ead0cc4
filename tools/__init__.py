"""Programs for the work on this repository: acceptance by simulation, chaos, fuzzing, mutants."""
