"""Storage of records: files, the format of a record, and the locks that say who may write which."""
