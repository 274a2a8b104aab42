"""Miniature language models: what they read, whether they use all of a long text, and what could be gained from it."""
