"""Sequence tasks: algorithmic tasks, scored by exact match, and formal languages, scored by sets of next symbols."""
