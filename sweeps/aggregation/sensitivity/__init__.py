"""How much each setting of a search matters."""
