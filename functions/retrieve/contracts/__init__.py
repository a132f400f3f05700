"""One module a wire contract: its body becomes a Query, a Result its answer."""
