"""Reproduced papers: their claims, deviations, plots and tables. ``synthlab study`` runs them."""
