"""All of MLflow, writing and reading."""
