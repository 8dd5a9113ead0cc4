"""Plans whose arms are declared in full before anything runs, made of factors."""
