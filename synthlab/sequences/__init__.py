"""Tasks whose answers are tokens: algorithmic tasks, judged by exact match, and formal languages, by next symbols."""
