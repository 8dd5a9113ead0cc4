"""Whether what tables and searches promise holds, where trainings are drawn by a known law."""
