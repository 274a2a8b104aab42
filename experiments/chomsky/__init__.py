"""The fifteen tasks of the Chomsky hierarchy (Delétang et al., 2022) and randomized positions (Ruoss et al., 2023), in
miniature."""
