"""From a sweep's definition to the cells that are to be filled."""
