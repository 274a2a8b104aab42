"""Tables and plots of records."""
