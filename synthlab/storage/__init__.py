"""Storage: what a record is, the folder that holds records, and which process trains which run."""
