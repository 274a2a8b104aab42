"""Transformers whose position encodings can be swapped, and linear attention as the theory has it."""
