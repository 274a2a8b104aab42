"""Files of weights made up for tests."""

import struct

from synthlab.storage.weights import Values, write_weights


def file(number: float, steps: int = 1) -> bytes:
    """The file of a model that has two parameters and a buffer."""
    data = struct.pack("<6f", *(number + k / 3 for k in range(6)))
    return write_weights(
        {
            "head.weight": Values("F32", [1, 2, 3], data),
            "head.bias": Values("F32", [1, 3], data[:12]),
            "table": Values("I64", [2], struct.pack("<2q", 5, steps)),
        }
    )
