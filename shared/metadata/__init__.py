"""The metadata filter: the condition tree, how values are read, and what a condition matches."""
