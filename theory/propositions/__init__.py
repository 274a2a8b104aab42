"""The propositions of the paper's appendix B, one a file, in the order of their equations."""
