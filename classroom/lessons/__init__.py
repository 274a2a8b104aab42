"""The lessons: their runs and texts, and the printed page."""
