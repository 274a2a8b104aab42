"""The training of a window: the run that trains, those that wait, and their process."""

from collections.abc import Callable, Sequence

from classroom import words
from classroom.board import Board
from classroom.choices import Choice, Chooser
from classroom.controls import Controls
from classroom.inspector import Inspector
from classroom.lessons import Lesson
from classroom.messages import Answered, Begun, Forget, Progress, Ready, Refused, Reply, Request, Stop, Theorized, Train
from classroom.runs import DemoRun, Runs
from classroom.worker import Gone, Worker
from synthlab.errors import InputError


class TrainingSession:
    """The runs of a window, and the process that trains them, which is started when first needed.

    There can be ``most`` runs.
    """

    def __init__(self, hire: Callable[[], Worker], chooser: Chooser, controls: Controls, board: Board, most: int):
        self.hire, self.chooser, self.controls, self.board, self.most = hire, chooser, controls, board, most
        self.worker: Worker | None = None
        self.runs, self.queue = Runs(), list[Choice]()
        self.current: DemoRun | None = None
        self.presses = 0
        self.lesson: Lesson | None = None
        self.inspector = Inspector(board, controls, self.runs, self.send)

    # --- what is trained

    def begin(self, choices: Sequence[Choice], lesson: Lesson | None) -> None:
        """Train those of the chosen runs that are not on the page yet; all of them again if all are.

        Raises InputError if there are too many runs or no process, and Gone.
        """
        if self._is_training(choices, lesson):
            return  # a second click
        there = [run for run in map(self.runs.find_finished, choices) if run is not None]
        again = len(there) == len(choices)
        # Runs already on the page stay, or are replaced one for one.
        if len(self.runs) + len(choices) - len(there) > self.most:
            raise InputError(f"The page has at most {self.most} curves; press Clear first")
        if self.worker is not None and not self.worker.is_alive:
            self.queue.clear()
            self.recover()  # the next poll would have noticed
        self.see_to_worker()
        self.board.complain([])
        self.board.errors.give_hint("")
        self.presses += 1
        self.lesson = lesson
        if lesson is not None:
            self.board.tell(lesson.title, lesson.watch)
        if again:
            for run in there:
                self._remove(run)
            there = []
        for run in self.runs:
            self.board.fade(run, run not in there)
        kept = [run.choice for run in there]
        self.queue = [choice for choice in choices if choice not in kept]
        self._ask_to_stop()
        self._train_next()

    def _is_training(self, choices: Sequence[Choice], lesson: Lesson | None) -> bool:
        """Return True if these runs are training now."""
        if self.current is None or self.is_stopping:
            return False
        return lesson is self.lesson if lesson is not None else [self.current.choice, *self.queue] == choices

    def stop(self) -> None:
        """Stop training; curves and models stay. Raises Gone."""
        self.queue.clear()
        self._ask_to_stop()

    def clear(self) -> None:
        """Remove all runs. Training must be stopped before. Raises Gone."""
        for run in list(self.runs):
            self._remove(run)
        self.inspector.look_at(None)
        self.lesson = None
        self.refresh()
        if self.worker is not None:
            self.worker.send(Forget())

    def _train_next(self) -> None:
        """Train the next run of the queue, if none is training."""
        if self.current is None and self.queue:
            self.see_to_worker()
            choice = self.queue.pop(0)
            for run in self.runs.list_unfinished():
                if run.choice == choice:
                    self._remove(run)
            run = self.runs.add(choice, words.run_name(choice, self.chooser.defaults), self.presses)
            self.board.add(run)
            self.current = run
            self.inspector.look_at(run)
            self.send(Train(run.number, self.chooser.settings(choice)))
        self.refresh()

    def _remove(self, run: DemoRun) -> None:
        self.board.remove(run)
        self.runs.remove(run)
        if self.inspector.run is run:
            self.inspector.look_at(None)

    def refresh(self) -> None:
        """Update the texts about the runs, and the choices of *Look at*."""
        looked_at = self.inspector.run
        self.board.describe(self.runs, looked_at)
        options = [(str(run.number), run.name) for run in reversed(list(self.runs))] or [("", "no curve yet")]
        value = str(looked_at.number) if looked_at else options[0][0]
        self.controls.look.update(options=options, value=value)

    # --- the process

    def see_to_worker(self) -> None:
        """Start a process if there is none. If that fails, empty the queue and raise InputError."""
        if self.worker is None:
            try:
                self.worker = self.hire()
            except InputError:
                self.queue.clear()
                raise

    def send(self, request: Request) -> None:
        """Send a request to the process. Raises Gone if there is none."""
        if self.worker is None:
            raise Gone
        self.worker.send(request)

    def _ask_to_stop(self) -> None:
        if self.current is not None:
            self.send(Stop())

    @property
    def is_stopping(self) -> bool:
        """True if training was asked to stop and has not confirmed it yet."""
        return self.worker is not None and self.worker.is_stopping

    def close(self) -> None:
        """End the process."""
        if self.worker is not None:
            self.worker.close()
            self.worker = None

    def recover(self) -> None:
        """Recover after the process has ended by itself, or was killed because it did not stop in time.

        Its models are lost with it. Raises InputError if no other can be started, and Gone.
        """
        stopping = self.is_stopping
        self.close()
        for run in self.runs:
            run.alive = False
        if self.current is not None:
            self.current.state = "stopped" if stopping else "failed"
        self.current = None
        if not stopping:
            self.queue.clear()
            self.board.complain(["The process that trains has ended, perhaps for want of memory; try a smaller model"])
        self.inspector.forget_model()
        self._train_next()

    # --- what it replies

    def replies(self) -> list[Reply]:
        """Return all replies since the last call. Raises Gone if the process has ended."""
        return [] if self.worker is None else self.worker.replies()

    def take(self, reply: Reply) -> None:
        """Show a reply, and continue with the next run if one is over. Raises InputError and Gone."""
        if isinstance(reply, Ready):
            return
        if isinstance(reply, Answered | Refused):
            self.inspector.show_answer(reply)
        run = self.runs.get(reply.number)
        match reply:
            case Begun() if run is not None:
                run.begun, run.state, run.alive = reply, "training", True
                self.inspector.look_at(run)
                self.refresh()
            case Progress():
                self._progress(run, reply)
            case Theorized() if run is not None:
                self.inspector.store_theory(run, reply)
            case Refused():
                self._show_refusal(run, reply)
        self.inspector.ask()

    def _progress(self, run: DemoRun | None, reply: Progress) -> None:
        if run is not None:
            run.update(reply)
            self.board.fit()
        over = reply.state != "training"
        if over and self._is_over(reply.number):
            last = not self.queue and reply.state == "finished"
            if last and self.lesson is not None:
                self.board.tell(self.lesson.title, self.lesson.seen)
        if run is not None:
            self.inspector.update(run, over)
        self._train_next()

    def _show_refusal(self, run: DemoRun | None, reply: Refused) -> None:
        press = self.current.press if self.current is not None else None
        if reply.ended and self._is_over(reply.number) and press == self.presses:
            self.queue.clear()  # otherwise a later press has filled it
        if run is not None:
            self.board.complain(reply.lines)
        if reply.ended and run is not None:
            self._remove(run)
            self.inspector.look_at(next(reversed(list(self.runs)), None))
        self._train_next()

    def _is_over(self, number: int) -> bool:
        """Record that a run is over; return False if it is not the one that trains."""
        if self.current is None or self.current.number != number:
            return False
        assert self.worker is not None  # it trained the run
        self.worker.note_stopped()
        self.current = None
        return True
