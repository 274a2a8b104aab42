"""Extend the context of a causal model of Hugging Face by training. ``synthlab extend``."""
