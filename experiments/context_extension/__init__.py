"""Extend the context of a causal model of Hugging Face by training. ``python -m experiments.context_extension``."""
