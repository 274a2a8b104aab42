import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthlab.analysis.conditions import check, conditions
from synthlab.errors import InputError

TABLE = pd.DataFrame(
    {
        "task": ["mean", "length", "sum", "length"],
        "train_length": [5, 10, 20, 10],
        "protocol.lr": [1e-3, 3e-3, 1e-3, 0.1],
        "encoding.base": [None, 10000.0, None, 3.0],
        "flag": [True, False, True, False],
        "tag": ["a,b", None, "7", "a"],
    }
)


def select_rows(table: pd.DataFrame, where) -> pd.DataFrame:
    for condition in conditions(where):
        check(condition, table.columns)
        table = table[condition.mask(table[condition.column])]
    return table


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        (None, [0, 1, 2, 3]),
        ("task=length,sum", [1, 2, 3]),
        ("task=length train_length>=10 protocol.lr<0.01", [1]),
        (["task=length", "protocol.lr=0.1"], [3]),
        ("protocol.lr=1e-3", [0, 2]),
        ("encoding.base=null", [0, 2]),
        ("encoding.base!=null", [1, 3]),
        ("encoding.base>5", [1]),  # what is missing is neither more nor less
        ("flag=true", [0, 2]),
        ("tag=a", [0, 3]),  # one of several tags
        ("tag!=b", [1, 2, 3]),
        ("tag=null", [1]),
        ("task=", []),
        ({"task": ["mean", "sum"], "flag": True}, [0, 2]),
        ({"train_length": np.int64(5)}, [0]),
    ],
)
def test_rows_are_chosen(where, rows):
    assert list(select_rows(TABLE, where).index) == rows


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("task", "where=task: cannot be read; write column=value, with = != >= <= > <"),
        ("=3", "where==3: cannot be read"),
        ("train_length>many", "where=train_length>many: > takes one number"),
        ("train_lenght>=3", "where=train_lenght>=3: unknown column, did you mean train_length"),
    ],
)
def test_conditions_that_are_none_are_refused_in_one_line(where, message):
    with pytest.raises(InputError, match=message):
        select_rows(TABLE, where)


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text):
    try:
        found = conditions(text)
    except InputError as error:
        assert "where=" in str(error)
    else:
        assert len(found) == len(text.split())
