"""The classroom: a page on which a class watches models learn, fail, and be repaired."""
