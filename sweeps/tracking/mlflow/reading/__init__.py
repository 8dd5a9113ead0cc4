"""How runs are read: by MLflow's client, or by SQL where an embedded store's schema is known."""
