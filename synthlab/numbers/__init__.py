"""Number tasks: the paper's mean, length and sum, trained on an invertible map of the target."""
