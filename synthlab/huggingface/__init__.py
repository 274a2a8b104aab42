"""Support for models of Hugging Face's Transformers. Nothing outside this package imports it."""
