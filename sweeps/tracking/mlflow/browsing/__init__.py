"""What people see of the records in MLflow's own pages: no reader of ours looks at it."""
