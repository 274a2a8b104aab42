"""The paper's tasks, whose answers are numbers: mean, length and sum, trained on an invertible map of them."""
