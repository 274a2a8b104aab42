"""The classroom: a page on which a class watches models learn, and fail, and be mended."""
