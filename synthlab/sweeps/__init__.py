"""Many runs: their grid, the processes that train them, and how far they are."""
