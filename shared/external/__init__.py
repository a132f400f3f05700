"""Knowledge bases that somebody else answers for: a guarded client of their HTTP API."""
