"""Linear attention exactly: the model, its closed forms, their optima."""
