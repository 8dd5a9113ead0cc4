"""What a storage folder holds and nothing needs: found, and freed on demand."""
