"""Benchmarks of long texts: tasks made here at any length, and named ones through EleutherAI's harness."""
