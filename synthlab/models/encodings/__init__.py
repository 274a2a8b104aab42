"""The position encodings, by name. Their interface is ``base.Encoding``."""

from synthlab.models.encodings.base import Encoding
from synthlab.models.encodings.by_layer import ByLayer
from synthlab.models.encodings.clex import CLEX
from synthlab.models.encodings.cope import CoPE
from synthlab.models.encodings.dape import DAPE
from synthlab.models.encodings.extensions import EABF, NTK, PI, YaRN
from synthlab.models.encodings.fire import FIRE
from synthlab.models.encodings.fox import FoX
from synthlab.models.encodings.kerple import KERPLE
from synthlab.models.encodings.length_rope import DynamicNTK, LongRoPE
from synthlab.models.encodings.plain import T5, ALiBi, Learned, NoPE, Sinusoidal
from synthlab.models.encodings.pope import PoPE
from synthlab.models.encodings.randomized import Randomized
from synthlab.models.encodings.readout import Readout
from synthlab.models.encodings.relative_maps import DualChunk, LeakyReRoPE, ReRoPE, SelfExtend
from synthlab.models.encodings.rope import PartialRoPE, PRoPE, RoPE
from synthlab.models.encodings.ssmax import SSMax
from synthlab.models.encodings.stick_breaking import StickBreaking
from synthlab.models.encodings.threshold import Threshold
from synthlab.models.encodings.transformer_xl import TransformerXL
from synthlab.models.encodings.window import HardALiBi, Window
from synthlab.models.encodings.xpos import XPos
from synthlab.runs.registry import Registry

ENCODINGS = Registry(
    "encoding",
    Encoding,
    {
        "nope": NoPE,
        "alibi": ALiBi,
        "rope": RoPE,
        "partial_rope": PartialRoPE,
        "p_rope": PRoPE,
        "pi": PI,
        "ntk": NTK,
        "yarn": YaRN,
        "eabf": EABF,
        "clex": CLEX,
        "dynamic_ntk": DynamicNTK,
        "longrope": LongRoPE,
        "self_extend": SelfExtend,
        "rerope": ReRoPE,
        "leaky_rerope": LeakyReRoPE,
        "dual_chunk": DualChunk,
        "learned": Learned,
        "sinusoidal": Sinusoidal,
        "t5": T5,
        "randomized": Randomized,
        "kerple": KERPLE,
        "fire": FIRE,
        "dape": DAPE,
        "cope": CoPE,
        "fox": FoX,
        "stick_breaking": StickBreaking,
        "ssmax": SSMax,
        "readout": Readout,
        "window": Window,
        "hard_alibi": HardALiBi,
        "threshold": Threshold,
        "xpos": XPos,
        "pope": PoPE,
        "transformer_xl": TransformerXL,
        "by_layer": ByLayer,
    },
)
