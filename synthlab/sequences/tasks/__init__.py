"""The tasks whose answers are tokens, and the formal languages."""
