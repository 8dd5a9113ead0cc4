"""The sensitivity tables: importances, pairs and means by value, with what they do not say."""
