"""The process behind a window: a real one, asked as the page asks it."""

import os
import shlex
import signal
import time

import pytest

from classroom.messages import Answered, Begun, Forget, Progress, Read, Ready, Stop, Theorize, Theorized, Train
from classroom.worker import Gone, Worker
from synthlab.runs.composition import compose
from synthlab.runs.run import resolve
from synthlab.training.execution import execute

pytestmark = pytest.mark.slow
PATIENCE = 60.0  # seconds; what takes longer hangs
SMALL = {"task": "length", "outrep": "rsqrt", "test_length": 12, "protocol.steps": 40, "evaluation.sequences": 16}
ENDLESS = {"task": "length", "protocol.steps": 10**6}


@pytest.fixture(scope="module")
def shared():
    worker = Worker(grace=PATIENCE)  # on a machine with much else to do 0.6 s may be too short
    yield worker
    worker.close()


@pytest.fixture
def worker(shared):
    shared.send(Forget())
    return shared


def until(worker: Worker, kind: type, state: str | None = None) -> list:
    """What the process says up to the first message of this kind, that one last."""
    heard, deadline = [], time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for reply in worker.replies():
            heard.append(reply)
            if isinstance(reply, kind) and (state is None or reply.state == state):
                return heard
        time.sleep(0.01)
    raise AssertionError(f"no {kind.__name__} in {PATIENCE} s, but {[type(reply).__name__ for reply in heard]}")


def test_a_run_ends_as_the_command_line_records_it(worker):
    worker.send(Train(1, SMALL))
    heard = until(worker, Progress, "finished")
    begun = next(reply for reply in heard if isinstance(reply, Begun))
    looks = [reply for reply in heard if isinstance(reply, Progress)]
    assert [look.state for look in looks] == ["training"] * (len(looks) - 1) + ["finished"]
    assert len(looks) >= 2
    assert begun[:4] == (1, 40, 10, 12)
    program, *overrides = shlex.split(begun.command)
    assert program == "synthlab"
    record = execute(resolve(compose(overrides)))
    assert looks[-1].view.error == record.metrics["mse"].tolist()
    assert looks[-1].losses == record.training["loss"].tolist()
    assert looks[-1].steps == record.training["step"].tolist()


def test_questions_are_answered_while_a_model_trains(worker):
    worker.send(Train(4, ENDLESS))
    until(worker, Progress, "training")
    worker.send(Read(4, "0110", 20))
    worker.send(Theorize(4))
    reading = until(worker, Answered)[-1].reading
    assert (len(reading.answers), len(reading.attention), len(reading.attention[0])) == (50, 4, 22)
    theory = until(worker, Theorized)[-1]
    assert len(theory.error) == 50
    assert theory.error[-1] == pytest.approx(1909.42, rel=1e-4)  # the README's 1,909
    worker.send(Stop())
    until(worker, Progress, "stopped")
    worker.note_stopped()


def test_whatever_happens_to_the_process_is_noticed():
    worker = Worker()
    until(worker, Ready)
    worker.send(Train(1, ENDLESS))
    until(worker, Progress, "training")
    os.kill(worker._process.pid, signal.SIGKILL)
    with pytest.raises(Gone):
        until(worker, Progress, "finished")
    worker.close()
    with pytest.raises(Gone):
        worker.send(Stop())


def test_a_long_step_does_not_delay_a_stop():
    worker = Worker()
    until(worker, Ready)
    large = {"model.width": 1024, "model.depth": 8, "train_length": 100, "protocol.batch": 64, "protocol.steps": 1000}
    worker.send(Train(1, large))
    until(worker, Begun)
    asked = time.monotonic()
    worker.send(Stop())
    with pytest.raises(Gone):
        until(worker, Progress, "stopped")
    assert time.monotonic() - asked < 5  # 0.6 s on an idle machine
    assert not worker._process.is_alive()


def test_the_process_ends_with_the_page_and_not_by_ctrl_c():
    worker = Worker()
    until(worker, Ready)
    os.kill(worker._process.pid, signal.SIGINT)
    worker.send(Train(1, SMALL))
    until(worker, Progress, "finished")
    worker._connection.close()
    worker._process.join(10)
    assert worker._process.exitcode == 0
