"""Perplexity at a length, by several definitions; loss by position; misalignment."""
