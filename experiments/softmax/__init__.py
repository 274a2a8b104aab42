"""Softmax by length: dispersion (Veličković et al., 2024) and logits that grow with log n (Nakanishi, 2025)."""
