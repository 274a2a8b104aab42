"""Positions dropped after training (DroPE, Gelberg et al., 2025), or in some layers (Yang et al., 2025; SWAN)."""
