"""A cell's folder and what lies in it, and the driver's journal."""
