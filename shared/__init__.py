"""Winnow's own code for every function, shipped as one Lambda layer."""
