"""The engine's process: Ray and Ray Tune, which nothing outside this package imports."""
