"""Where records lie: files, what a record holds, and who may write which."""
