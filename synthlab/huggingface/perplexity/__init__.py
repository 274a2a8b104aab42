"""Perplexity at a length: which tokens count, each with which context; loss by position; misalignment beside them."""
