"""Flip-flops: threshold attention (Opper et al., 2025) and forget gates (Lin et al., 2025), in miniature."""
