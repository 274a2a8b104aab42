"""Suites of tasks whose answers are tokens."""
