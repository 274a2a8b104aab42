"""The propositions of the paper's appendix B, one per file, in the order of their equations."""
