"""Exact linear attention: the model, its closed forms, their optima."""
