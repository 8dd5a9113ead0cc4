"""How much each searched setting matters."""
