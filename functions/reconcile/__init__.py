"""Lambda on a schedule: finishes what was left undone, and brings the index back into step."""
