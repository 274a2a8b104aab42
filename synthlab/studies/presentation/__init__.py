"""What figures, pages and reports look like."""
