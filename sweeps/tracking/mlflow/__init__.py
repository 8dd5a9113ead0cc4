"""The member that keeps records in MLflow: the one place that knows MLflow's words."""
