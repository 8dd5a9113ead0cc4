"""Who is trained next and what follows a failure, and the engine that does it: Ray Tune."""
