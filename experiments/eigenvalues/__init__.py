"""Unlocking State-Tracking in Linear RNNs Through Negative Eigenvalues (Grazzi et al., 2025), in miniature."""
