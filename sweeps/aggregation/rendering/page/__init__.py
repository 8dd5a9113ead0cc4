"""A report as pages of HTML that hold all they need: style and drawings inside, nothing fetched."""
