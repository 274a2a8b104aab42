"""The lessons: what is trained, told and printed."""
