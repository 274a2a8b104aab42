"""The page's controls: labelled widgets that can be used by keyboard."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bokeh.models import Button, CheckboxGroup, Column, Select, Slider, TextInput, UIElement

from classroom import words
from classroom.choices import GROUPS, Choice, Chooser

# Text, not style sheets of Bokeh, since such a model belongs to one window.
SHEET = """
    :host { font-family: system-ui, sans-serif; font-size: 15px; overflow-wrap: anywhere; }
    label, .bk-input-group > label, .bk-slider-title { font-size: 15px; color: #1a1a1a; line-height: 1.2; }
    .bk-input { font-size: 16px; min-height: 30px; padding: 0 6px; color: #1a1a1a; border: 1px solid #767676; }
    .bk-btn { font-size: 16px; padding: 6px 8px; color: #1a1a1a; border: 1px solid #767676; white-space: nowrap; }
    .bk-btn-primary { background: #0072B2; color: #fff; border-color: #005a8f; font-weight: 600; }
    .bk-btn-primary:hover { background: #005a8f; color: #fff; }
    .bk-btn:focus-visible, .bk-input:focus-visible { outline: 3px solid #E69F00; outline-offset: 1px; }
    .noUi-handle:focus-visible { outline: 3px solid #E69F00; }
    input[type=checkbox] { width: 18px; height: 18px; vertical-align: middle; }
"""
# The label is beside the control, not above: a third of the height.
BESIDE = ".bk-input-group { flex-direction: row; align-items: center; } .bk-input-group > label { flex: 0 0 72px; }"
WIDE: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0, "stylesheets": [SHEET]}
LABELLED: dict[str, Any] = WIDE | {"stylesheets": [SHEET, BESIDE]}


class Controls:
    """The controls that choose a run, and the buttons."""

    def __init__(self, chooser: Chooser, lessons: Mapping[str, str]):
        self.settings: dict[str, Select | TextInput] = {}
        for key, value in chooser.defaults.items():
            title = words.LABELS[key]
            if key in GROUPS:
                options: Any = [*chooser.members[key].items()]  # Bokeh's stubs require lists of str or None inside
                self.settings[key] = Select(title=title, value=value, options=options, **LABELLED)
            else:
                self.settings[key] = TextInput(title=title, value=str(value), **WIDE)
        self.lessons = {name: Button(label=label, **WIDE) for name, label in lessons.items()}
        self.train = Button(label="Train", button_type="primary", **WIDE)
        self.stop, self.clear = Button(label="Stop", **WIDE), Button(label="Clear", **WIDE)
        # Unlike Bokeh's single checkbox, these can be clicked by their labels.
        self.ticks = CheckboxGroup(labels=["linear scale", "theory"], active=[], stylesheets=[SHEET], margin=0)
        self.look = Select(title="Look at", options=[("", "no curve yet")], value="", **WIDE)
        self.sequence = TextInput(title="0s and 1s, repeated to any length", value="0110", value_input="0110", **WIDE)
        self.length_place = Column(sizing_mode="stretch_width", margin=0)
        self.on_length: Callable[[Any], None] = lambda value: None
        self.allow_lengths(chooser.defaults["test_length"])

    def allow_lengths(self, longest: int) -> None:
        """Allow lengths up to ``longest``, with a new slider: the End key of a used one goes to its old end."""
        value = min(self.length.value, longest) if self.length_place.children else min(10, longest)
        if not self.length_place.children or self.length.end != max(2, longest):
            self.length = Slider(title="length", start=1, end=max(2, longest), value=value, step=1, **WIDE)
            on_change(self.length, "value", lambda value: self.on_length(value))
            self.length_place.children = [self.length]
        self.length.value = value

    @property
    def theory(self) -> bool:
        """True if the theoretical error is shown."""
        return 1 in self.ticks.active

    def tick(self, scale: str, theory: bool) -> None:
        """Set the scale of the errors, ``log`` or ``linear``, and whether the theoretical error is shown."""
        self.ticks.active = [0] * (scale == "linear") + [1] * theory

    def texts(self) -> dict[str, str]:
        """Return the values of the controls."""
        return {key: widget.value or "" for key, widget in self.settings.items()}

    def show(self, choice: Choice) -> None:
        """Set the controls to a run."""
        for key, value in choice.items():
            self.settings[key].value = str(value)

    def roots(self) -> Iterator[tuple[str, UIElement]]:
        """Yield each widget with the name by which the page's template places it."""
        yield from ((key.replace(".", "_"), widget) for key, widget in self.settings.items())
        yield from ((f"lesson_{name}", button) for name, button in self.lessons.items())
        yield from ((name, getattr(self, name)) for name in ("train", "stop", "clear", "ticks", "look", "sequence"))
        yield "length", self.length_place


def on_change(widget: Any, attribute: str, react: Callable[[Any], None]) -> None:
    """Call ``react`` with the new value whenever the attribute changes."""
    widget.on_change(attribute, lambda name, old, new: react(new))
