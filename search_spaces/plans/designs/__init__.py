"""Plans whose arms are made of factors and known before anything runs."""
