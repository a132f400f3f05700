"""One query: prefilter, search, load, fuse, hydrate, respond."""
