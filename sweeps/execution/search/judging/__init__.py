"""Who is stopped at a rung, who waits there, who goes on."""
