"""Benchmarks of long texts: synthetic tasks at any length, and published ones through EleutherAI's harness."""
