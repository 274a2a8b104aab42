"""The training loop, ensembles of models that train together, and the devices that they train on."""
