"""Hydra looks for launchers in the packages below ``hydra_plugins``, which has no ``__init__.py``: many share it."""
