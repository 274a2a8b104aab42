"""Benchmarks of the lab's speed: ``synthlab bench``."""
