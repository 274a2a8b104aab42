"""The atlas: position encodings and mixers on tasks of all families, up to five times the training length."""
