"""What the page draws, and what it measures to draw it."""
