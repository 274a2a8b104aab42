"""Transformers with interchangeable position encodings, and the linear attention of the paper's theory."""
