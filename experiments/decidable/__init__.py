"""Algebraic Decomposition Theory for Transformer Length Generalization (Yang et al., 2026), in miniature."""
