"""Inspection of trained models: what each layer computes, by name, and what changes when it is replaced."""

from synthlab.inspection.hooked import Activations, HookedTransformer
from synthlab.inspection.interventions import patch, replace_head, zero_head
from synthlab.inspection.probes import Probe, fit_probe
from synthlab.models.layers import HookPoint

__all__ = ["Activations", "HookPoint", "HookedTransformer", "Probe", "fit_probe", "patch", "replace_head", "zero_head"]
