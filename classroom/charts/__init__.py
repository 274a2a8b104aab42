"""The charts of the page, and the measurements that they show."""
