"""Suites of sequence tasks."""
