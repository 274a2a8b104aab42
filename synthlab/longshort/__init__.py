"""Long-short misalignment, and the regularizer against it, for any causal language model."""
