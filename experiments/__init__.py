"""Papers trained again: their claims, their deviations, what is drawn of their runs. ``synthlab study``."""
