"""From records to statistics, tables, figures, reports and answers. Nothing is run here."""
