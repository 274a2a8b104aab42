"""The selected run: its charts, and requests to its model during training."""

import time
from collections.abc import Callable

from classroom.board import Board
from classroom.controls import Controls
from classroom.messages import Answered, Read, Refused, Request, Theorize, Theorized
from classroom.runs import DemoRun, Runs

SELDOM = 2.0  # seconds between two predictions for a sequence while a model trains: its charts cost the most


class Inspector:
    """Shows one of ``runs`` at a time on the board. ``send``, which may raise Gone, sends requests to its model."""

    def __init__(self, board: Board, controls: Controls, runs: Runs, send: Callable[[Request], None]):
        self.board, self.controls, self.runs, self.send = board, controls, runs, send
        self.run: DemoRun | None = None
        self.pattern, self.due = "0110", 0.0
        self.is_wanted = self.is_asked = False  # state of the request for predictions; there is one at a time

    def look_at(self, run: DemoRun | None) -> None:
        """Show this run in the lower charts, and its training lengths in the upper ones."""
        if run is not self.run:
            self.board.clear()
        self.run = run
        if run is not None:
            self.board.show_task(self.runs, run.choice["task"])
        if run is None or run.begun is None:
            return
        self.board.stage(run, max(each.begun.test_length for each in self.runs if each.begun is not None))
        self.controls.allow_lengths(run.begun.test_length)
        if run.view is not None:
            self.board.show(run)
        self.show_theory()
        self._request_reading()

    def update(self, run: DemoRun, over: bool) -> None:
        """Update the charts if this is the selected run; update the sequence's predictions less often."""
        if run is not self.run:
            return
        if run.view is not None:
            self.board.show(run)
        if over or time.monotonic() > self.due:
            self.is_wanted, self.due = True, time.monotonic() + SELDOM

    # --- a sequence that is typed

    def read(self, pattern: str) -> None:
        """Request the model's predictions for this sequence."""
        self.pattern = pattern
        self._request_reading()

    def show_answer(self, reply: Answered | Refused) -> None:
        """Show a model's predictions for the sequence, if its run is still selected."""
        self.is_asked = False
        run = self.run
        if run is None or run.number != reply.number:
            return
        if isinstance(reply, Answered) and reply.reading is not None:
            self.board.show_reading(run, reply.reading)

    def forget_model(self) -> None:
        """Record that the model was deleted."""
        self.is_asked = False
        self._request_reading()

    def _request_reading(self) -> None:
        self.is_wanted = True
        self.ask()

    def ask(self) -> None:
        """Request predictions if there is a sequence and a model; report if there can be none."""
        run = self.run
        if not self.is_wanted or run is None:
            return
        if run.alive and not self.is_asked:
            self.is_wanted, self.is_asked = False, True
            assert run.begun is not None  # a model that exists has begun training
            length = min(int(self.controls.length.value), run.begun.test_length)
            self.send(Read(run.number, self.pattern, length))
        elif not run.alive and run.view is not None:
            self.is_wanted = False
            self.board.regret(run)

    # --- theory

    def show_theory(self) -> None:
        """Show or hide the theoretical error of the run."""
        run = self.run
        self.board.draw_theory([])
        if not self.controls.theory or run is None:
            return
        if run.theory is None:
            if run.alive and not run.theory_asked:
                run.theory_asked = True
                self.send(Theorize(run.number))
            return
        error, reason = run.theory
        if reason:
            self.board.complain([reason])
        self.board.draw_theory(error)

    def store_theory(self, run: DemoRun, reply: Theorized) -> None:
        """Store the theoretical error of a run."""
        run.theory = (reply.error, reply.reason)
        self.show_theory()
