"""Output Alignment (section 3 of the paper): its figures and its claims."""
