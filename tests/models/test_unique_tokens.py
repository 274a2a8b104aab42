"""The table of unique tokens against the packed rows that are gathered from it."""

import torch

from synthlab.models.packing import mask_packed, pack, rank_packed
from synthlab.models.unique_tokens import find_rows, make_token_table, table_mask, table_rows

CPU = torch.device("cpu")


def test_every_packed_token_is_a_row_of_the_table():
    x = torch.tensor([[1, 0, 1], [0, 0, 0]])
    tokens, positions = make_token_table(3, CPU)
    rows = table_rows(x)
    assert torch.equal(tokens[rows], pack(x))
    assert torch.equal(positions[rows], rank_packed(3, CPU).expand(2, -1))
    held = torch.zeros(2, 10, dtype=torch.bool).scatter_(1, rows, True)
    assert torch.equal(find_rows(x), held)


def test_masks_equal_the_packed_mask():
    x = torch.tensor([[1, 0, 1], [0, 1, 1]])
    rows = table_rows(x)
    for row, held in zip(rows, find_rows(x), strict=True):
        seen = (table_mask(3, CPU)[row] & held)[:, row]  # T T
        prefix, own = mask_packed(3, CPU)[:, :-1], mask_packed(3, CPU)[:, -1]
        expected = torch.cat((prefix, torch.zeros(7, 3, dtype=torch.bool)), 1)
        expected[torch.arange(7), torch.arange(7)] |= own
        assert torch.equal(seen, expected)
