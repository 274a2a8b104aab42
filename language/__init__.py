"""Long-short alignment: its metric, its regularizer, and miniature language models to measure them on."""
