"""The Impact of Positional Encoding on Length Generalization in Transformers (Kazemnejad et al., 2023), small."""
