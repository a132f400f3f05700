"""What every HTTP function shares: the edge checks, who calls, and errors as problems."""
