"""The ablation table: its rows, what programs read of it, and what it says in words."""
