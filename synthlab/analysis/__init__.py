"""Records as tables, and what is drawn of them."""
