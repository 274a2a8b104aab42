"""Addition of longer numbers: position coupling, Abacus embeddings, and the spread over seeds, in miniature."""
