"""Ranked lists of hits into one scored, explained list. Pure, free of I/O."""
