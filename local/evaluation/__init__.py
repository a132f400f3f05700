"""How well a judged collection is answered: reading it, and the measures."""
