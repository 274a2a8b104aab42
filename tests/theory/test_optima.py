"""Exact optima: by hand, against least squares over all sequences, against searches, and against the closed forms."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sympy
from sympy import Matrix, Rational

import theory
from synthlab.errors import InputError
from synthlab.runs.composition import compose
from synthlab.runs.run import resolve
from theory.closed_forms.formulas import L, N, error_formula, loss_formula, optimum_error_formula, optimum_formula
from theory.closed_forms.least import least_error
from theory.closed_forms.linear_attention import TARGETS, expected_error, mixture, training_loss
from theory.closed_forms.rank_one import Root, _find_lesser, minima

M = Matrix(2, 2, sympy.symbols("M00 M01 M10 M11"))


def dataset(task: str, train_length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every prefix length with every sequence: features of the four entries of M, target, weight."""
    rows, targets, weights = [], [], []
    for length in range(1, train_length + 1):
        for x in product((0, 1), repeat=length):
            row = np.zeros((2, 2))
            for symbol in x:
                row[x[-1], symbol] += 1 / length
            rows.append(row.ravel())
            targets.append(float(TARGETS[task](sum(x), length)))
            weights.append(0.5**length / train_length)
    return np.array(rows), np.array(targets), np.array(weights)


@pytest.mark.parametrize("task", TARGETS)
@pytest.mark.parametrize("train_length", [2, 3, 6])
def test_unbound_optimum_is_least_squares(task, train_length):
    x, y, weight = dataset(task, train_length)
    root = np.sqrt(weight)
    solution, *_ = np.linalg.lstsq(x * root[:, None], y * root, rcond=None)
    best = theory.optimum(task, train_length, head_dim=2)
    assert [float(entry) for entry in best.outputs] == pytest.approx(solution.tolist(), abs=1e-9)
    assert float(best.loss) == pytest.approx(float(weight @ (x @ solution - y) ** 2), abs=1e-9)
    assert best.is_unique


@pytest.mark.parametrize("task", TARGETS)
@pytest.mark.parametrize("train_length", [2, 3, 6])
def test_no_direction_beats_the_optimum_of_rank_one(task, train_length):
    x, y, weight = dataset(task, train_length)
    losses = []
    for angle in np.linspace(0, np.pi, 2001):
        kappa = np.array([np.cos(angle), np.sin(angle)])
        shares = x.reshape(-1, 2, 2) @ kappa  # the q that belongs to each sequence multiplies its share
        fitted = shares * ((weight[:, None] * shares * y[:, None]).sum(0) / (weight[:, None] * shares**2).sum(0))
        losses.append(weight @ (fitted.sum(1) - y) ** 2)
    best = theory.optimum(task, train_length, head_dim=1)
    assert best.outputs.applyfunc(lambda entry: sympy.N(entry, 30)).det() == pytest.approx(0, abs=1e-20)
    assert float(best.loss) <= min(losses) + 1e-12
    assert float(best.loss) == pytest.approx(min(losses), abs=1e-4)


def test_the_length_task_at_two_by_hand():
    # Unbound: n / H_n = 2 / (3/2) on the diagonal, n (n - 1) / (n - H_n) - n / H_n = 4 - 4/3 beside it.
    best = theory.optimum("length", 2, head_dim=2)
    assert best.outputs == Matrix([[Rational(4, 3), Rational(8, 3)], [Rational(8, 3), Rational(4, 3)]])
    # Errors: (4/3 - 1)^2 at length 1; at length 2 the answers are 4/3 and 2, so (2/3)^2 / 2.
    assert (best.error(1), best.error(2), best.loss) == (Rational(1, 9), Rational(2, 9), Rational(1, 6))
    one = theory.optimum("length", 2, head_dim=1)
    assert one.outputs == Matrix([[Rational(3, 2)] * 2] * 2) == theory.paper_optimum("length", 2).outputs
    assert (one.loss, one.error(50)) == (Rational(1, 4), Rational(97, 2) ** 2)


@pytest.mark.parametrize("head_dim", [1, 2])
def test_the_mean_task_is_solved_exactly(head_dim):
    best = theory.optimum("mean", 10, head_dim)
    assert best.outputs == theory.paper_optimum("mean", 10).outputs == Matrix([[0, 1], [0, 1]])
    assert (best.loss, best.error(1000), best.is_unique) == (0, 0, True)


def test_the_sum_task_at_two_by_hand():
    # Unbound: 0 and n (n - 1) / (2 (n - H_n)) = 2 after a 0; 2 - 4/3 and 4/3 after a 1.
    best = theory.optimum("sum", 2, head_dim=8)
    assert best.outputs == Matrix([[0, 2], [Rational(2, 3), Rational(4, 3)]])
    paper = theory.paper_optimum("sum", 2)
    assert paper.outputs == Matrix([[0, Rational(10, 7)], [0, Rational(10, 7)]])  # 2 x 5 / (2 (2 + 3/2))
    assert (best.loss, paper.loss, paper.is_unique) == (Rational(1, 12), Rational(3, 28), False)
    # (l + 1) / (4 l) (Gamma - l)^2: half of what equation 20 prints.
    assert paper.error(5) == Rational(6, 20) * (Rational(10, 7) - 5) ** 2


@pytest.mark.parametrize("task", TARGETS)
def test_a_single_training_length_leaves_half_of_m_open(task):
    for head_dim in (1, 2):
        best = theory.optimum(task, 1, head_dim)
        assert (best.loss, best.is_unique) == (0, False)
        assert best.outputs.rank() <= head_dim


@pytest.mark.parametrize("task", TARGETS)
def test_closed_forms_equal_sums(task):
    for n in (2, 7):
        assert sympy.expand(error_formula(M, task).subs(L, n) - expected_error(M, task, n)) == 0
        assert sympy.expand(loss_formula(M, task).subs(N, n).doit() - training_loss(M, task, n)) == 0
        best = theory.optimum(task, n, head_dim=2)
        assert optimum_formula(task).subs(N, n).doit() == best.outputs
        for length in (1, 9):
            error = optimum_error_formula(task).subs({N: n, L: length}).doit()
            assert sympy.expand(error - best.error(length)) == 0


def test_two_minima_are_found():
    # A target of the length alone treats both symbols alike, so a minimum that does not has a mirror image.
    heights = {1: -3, 2: -3, 3: 4}
    found = minima(mixture(lambda ones, length: Fraction(heights[length]), 3))
    assert len(found) == 2
    first, second = found
    assert first.loss == second.loss
    mirrored = Matrix([[0, 1], [1, 0]]) * second.outputs * Matrix([[0, 1], [1, 0]])
    assert (first.outputs - mirrored).applyfunc(lambda entry: sympy.N(entry, 30)).norm() < 1e-25


def test_close_algebraic_numbers_are_ordered():
    t = sympy.Symbol("t")
    close = sympy.Poly(((t**2 - 2) * (t**2 - 2 - Rational(1, 10**90))), t, domain=sympy.QQ)
    roots = Root.all(close)
    assert len(roots) == 4
    two, more = sorted((root for root in roots if root.place == 1), key=lambda root: root.polynomial.LC())
    assert two.number == sympy.CRootOf(t**2 - 2, 1, radicals=False)
    assert _find_lesser(two, more) == _find_lesser(more, two) == two


@pytest.mark.parametrize("bos", [False, True])
def test_under_bos_and_maps_no_small_step_lowers_the_loss(bos):
    best = theory.optimum("sum", 5, 2, outrep="sqrt", bos=bos).to_decimals(40)
    rows = mixture(lambda ones, length: sympy.sqrt(ones), 5, bos=bos)
    outputs = best.outputs

    def loss(matrix):
        return sum(row.error(matrix.row(k)) for k, row in enumerate(rows))

    least = sympy.N(loss(outputs), 40)
    assert abs(least - best.loss) < 1e-30
    for place in range(len(outputs)):
        step = sympy.zeros(*outputs.shape)
        step[place] = Rational(1, 1000)
        assert sympy.N(loss(outputs + step), 40) > least < sympy.N(loss(outputs - step), 40)


def test_with_bos_shifted_reciprocals_are_exact():
    best = theory.optimum("length", 10, 1, outrep="reciprocal", shift=1, bos=True)
    assert best.outputs == Matrix([[0, 0, 1], [0, 0, 1]])
    assert (best.loss, best.is_unique) == (0, True)
    assert best.error(500) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"outrep": "log", "shift": 0}, "shift=0: takes the least target of task=sum to 0, outside the domain"),
        ({"outrep": "log"}, "head_dim=1: under outrep=log the best M has rank two"),
        ({"bos": True}, "head_dim=1: with a BOS the best M has rank two"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        theory.optimum("sum", 5, 1, **options)


def test_least_error_of_the_theory_by_hand():
    # Of dimension 1 nothing beats the constant (n + 1) / 2 on the length: 1.5 for lengths 1 and 2.
    settings = ["task=length", "model=linear", "model.head_dim=1", "train_length=2", "test_length=4"]
    least, reason = least_error(resolve(compose(settings)))
    assert (least, reason) == ([0.25, 0.25, 2.25, 6.25], "")


def test_where_theory_has_no_error_it_gives_a_reason():
    least, reason = least_error(resolve(compose(["inputs.p=0.3"])))
    assert least == []
    assert reason.startswith("theory: known for inputs=bernoulli with p=0.5 only")
