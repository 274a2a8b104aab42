"""Looking inside trained models: what each layer computes, by name, and what changes when it is replaced."""

from synthlab.inspection.activations import Activations as Activations
from synthlab.inspection.hooked import HookedTransformer as HookedTransformer
from synthlab.inspection.hooked import HookPoint as HookPoint
from synthlab.inspection.interventions import patch as patch
from synthlab.inspection.interventions import replace_head as replace_head
from synthlab.inspection.interventions import zero_head as zero_head
from synthlab.inspection.probes import Probe as Probe
from synthlab.inspection.probes import fit_probe as fit_probe

__all__ = ["Activations", "HookPoint", "HookedTransformer", "Probe", "fit_probe", "patch", "replace_head", "zero_head"]
