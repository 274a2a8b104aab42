"""The fifteen tasks of the Chomsky hierarchy (Delétang et al., 2022) and randomized positions, in miniature.

Randomized positions are those of Ruoss et al. (2023).
"""
