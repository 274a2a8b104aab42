"""Claims, judged on runs made up by hand."""

from typing import Any

from synthlab.studies.verdicts import ClaimData, Claims, Verdict, judge


def judge_on(claims: Claims[Any], name: str, *tables: Any) -> Verdict:
    """The verdict on one claim, on the runs of each panel that tests it."""
    (verdict,) = judge([claims[name]], "by hand", [ClaimData([name], table) for table in tables])
    return verdict


def answers_on(claims: Claims[Any], name: str, *tables: Any) -> list[str]:
    return [check.answer for check in judge_on(claims, name, *tables).checks]
