"""Statistics, tables, figures, reports and answers from records. Nothing is trained here."""
