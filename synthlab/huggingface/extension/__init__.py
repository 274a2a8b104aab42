"""Extension of the context of a causal model of Hugging Face by fine-tuning: ``synthlab extend``."""
