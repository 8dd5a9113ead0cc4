"""What was lost or damaged in a storage folder or its tracking store, made good on demand."""
