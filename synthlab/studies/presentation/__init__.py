"""Figures, pages and reports of studies."""
