"""The description of a run: composed from files and the command line, and checked before anything runs."""
