"""A Formal Framework for Understanding Length Generalization in Transformers (Huang et al., 2025), in miniature."""
