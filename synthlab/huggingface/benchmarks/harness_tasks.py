"""The synthetic tasks as task objects of EleutherAI's harness. Needs the extra ``evaluate``."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from synthlab.errors import describe_missing
from synthlab.huggingface.benchmarks.sample import Encode, Sample
from synthlab.huggingface.benchmarks.synthetic import samples, share_of_answers

try:
    from datasets import Dataset  # pyright: ignore[reportMissingImports]
    from lm_eval.api.instance import Instance  # pyright: ignore[reportMissingImports]
    from lm_eval.api.task import ConfigurableTask  # pyright: ignore[reportMissingImports]
except ImportError as error:
    raise ImportError(
        describe_missing("synthlab.huggingface.benchmarks.harness_tasks", "lm_eval", "evaluate")
    ) from error

METRICS = ("recall", "loss", "exact")


class SyntheticTask(ConfigurableTask):
    """A task of ``synthlab.huggingface.benchmarks.synthetic`` at one length, and one depth or all.

    Metrics: ``recall``, the share of the answers that occur, as whole words, in the model's output after the prompt;
    ``loss``, in nats per token of the true answers; ``exact``, 1 if each of these tokens is the likeliest.

    Args:
        name: The task's name in the harness.
        drawn: The samples.
    """

    def __init__(self, name: str, drawn: Sequence[Sample]):
        docs = [asdict(sample) | {"target": sample.target} for sample in drawn]
        config: dict[str, Any] = {
            "task": name,
            "custom_dataset": lambda **_: {"test": Dataset.from_list(docs)},
            "test_split": "test",
            "output_type": "generate_until",
            "doc_to_text": lambda doc: doc["prompt"],
            "doc_to_target": lambda doc: doc["target"],
            "process_results": score_sample,
            "generation_kwargs": {"until": ["\n"], "do_sample": False},
            "metric_list": [
                {"metric": metric, "aggregation": "mean", "higher_is_better": metric != "loss"} for metric in METRICS
            ],
        }
        super().__init__(config=config)

    def construct_requests(self, doc: Any, ctx: Any, **kwargs: Any) -> list[Any]:
        """Return two requests: one to generate as far as the answers reach, one for the likelihood of the answers."""
        kwargs.pop("apply_chat_template", None)
        kwargs.pop("chat_template", None)
        options = {"until": ["\n"], "do_sample": False, "max_gen_toks": doc["room"]}
        asked = [("generate_until", (ctx, options)), ("loglikelihood", (ctx, doc["target"]))]
        return [
            Instance(request_type=kind, doc=doc, arguments=arguments, idx=place, **kwargs)
            for place, (kind, arguments) in enumerate(asked)
        ]


def score_sample(doc: dict[str, Any], results: Sequence[Any]) -> dict[str, float]:
    """Return the metrics of one sample, from the model's output and the answers' (log-likelihood, greedy)."""
    text, (likelihood, greedy) = results
    return {"recall": share_of_answers(doc["answers"], text), "loss": -likelihood / doc["room"], "exact": float(greedy)}


def make_synthetic_tasks(
    names: Sequence[str], lengths: Sequence[int], depths: Sequence[float], count: int, encode: Encode, seed: int
) -> dict[str, tuple[SyntheticTask, str, str, int]]:
    """Return task objects, by their names in the harness, each with its task, group and length.

    The group is ``depth=0.5``, or ``made`` over all depths.
    """
    tasks = {}
    for name in names:
        for length in lengths:
            for depth in depths or (None,):
                group = "made" if depth is None else f"depth={depth:g}"
                label = f"{name}, {group}, {length} tokens"
                drawn = list(samples(name, length, count, encode, seed, depth))
                tasks[label] = (SyntheticTask(label, drawn), name, group, length)
    return tasks
