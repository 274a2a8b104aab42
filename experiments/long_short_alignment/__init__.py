"""Long-Short Alignment (sections 4 to 6 of the paper): its studies and its claims."""
