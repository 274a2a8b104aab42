import torch

from synthlab.models import packing
from synthlab.models.packing import BOS, EOS


def test_a_row_holds_bos_the_symbols_and_an_eos_for_each_prefix():
    x = torch.tensor([[1, 0, 1]])
    assert packing.pack(x).tolist() == [[BOS, 1, 0, 1, EOS, EOS, EOS]]


def test_the_kth_eos_stands_right_after_its_prefix():
    assert packing.rank_packed(3, torch.device("cpu")).tolist() == [0, 1, 2, 3, 2, 3, 4]


def test_visibility_for_two_symbols_by_hand():
    bos, x1, x2 = [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]
    eos1, eos2 = [1, 1, 0, 1], [1, 1, 1, 1]
    assert packing.mask_packed(2, torch.device("cpu")).int().tolist() == [bos, x1, x2, eos1, eos2]
