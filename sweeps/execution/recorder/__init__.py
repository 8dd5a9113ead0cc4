"""From outboxes to the tracking store."""
