"""What turns each declared table or figure into a section of a report."""
