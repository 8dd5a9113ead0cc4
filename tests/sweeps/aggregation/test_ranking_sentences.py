"""How sure a ranking's first place is, in numbers and in words."""

import numpy as np
import pytest
from safetensors.numpy import save

from sweeps.aggregation.best_configs import best_configs, ranked_configs
from sweeps.aggregation.ranking_sentences import ranking_sentences
from sweeps.cli.commands.best import print_best
from sweeps.records.trial_record import Outcome
from tests.sweeps.aggregation.known_sweep import (
    finished,
    manifest_of,
    put_sweep,
    put_trial,
    unfinished,
)


def printed(store, count):
    ranking = ranked_configs("known", store)
    print_best(ranking.configs[:count], ranking_sentences("known", ranking))


def put_judged(store, tmp_path, wrong, without=()):
    """Put a sweep with validation predictions: arm -> for each seed how many of 360 are wrong.

    Args:
        without: Arms of which the last seed has none.
    """
    manifest = manifest_of(wrong, range(len(next(iter(wrong.values())))))
    put_sweep(store, manifest, [])
    path = tmp_path / "predictions.safetensors"
    for arm, row in wrong.items():
        for seed, number in enumerate(row):
            errors = {"validation_error": number / 360, "test_error": 0.0}
            record_id = put_trial(store, finished(arm, seed, 0, epochs=1, **errors))
            labels = np.zeros(360, np.uint8)
            classes = np.where(np.arange(360) < number, 1, 0).astype(np.uint8)
            of_test = {"predictions": labels, "labels": labels}
            of_validation = {"validation_predictions": classes, "validation_labels": labels}
            has_none = arm in without and seed == len(row) - 1
            path.write_bytes(save(of_test | ({} if has_none else of_validation)))
            store.writer().upload(record_id, path)


def test_the_best_are_printed_with_what_they_cannot_be_told_from_and_no_chance_of_being_best(
    store, tmp_path, capsys
):
    put_judged(store, tmp_path, {"a": (4, 6, 5), "far": (60, 61, 65), "b": (5, 5, 6)})
    first, second, last = best_configs("known", store)

    assert first.value.half_width is not None
    assert 2 / 360 < first.value.half_width < 8 / 360  # three seeds alone: 2.5 / 360
    assert first.value.low == 0 < first.value.high
    assert [first.arm, second.arm, last.arm] == ["a", "b", "far"]
    assert [config.may_be_best for config in (first, second, last)] == [True, True, False]
    assert "indistinguishable from the first" in second._repr_html_()
    for count in (1, 3):
        printed(store, count)
        out = capsys.readouterr().out
        assert "Indistinguishable from the first, for all together at 95 %: b." in out
        assert ("far" in out) is (count == 3)
        assert "P(best)" not in out


def test_what_was_not_compared_with_the_first_is_not_called_told_from_it(store, tmp_path):
    put_judged(store, tmp_path, {"a": (4, 6, 5), "far": (60, 61, 65), "lost": (5, 5, 6)}, {"lost"})
    ranking = ranked_configs("known", store)

    assert [config.may_be_best for config in ranking.configs] == [True, None, False]
    text = " ".join(ranking_sentences("known", ranking))
    assert "The first can be distinguished from all others that could be compared" in text
    assert "Not compared with the first" in text
    assert text.split("stand before): ")[1].startswith("lost.")


def test_where_the_first_lacks_predictions_nothing_is_said_of_places(store, tmp_path):
    put_judged(store, tmp_path, {"a": (4, 6, 5), "b": (5, 5, 6), "c": (7, 7, 9)}, {"a"})
    ranking = ranked_configs("known", store)

    assert {config.may_be_best for config in ranking.configs} == {None}
    assert len([*ranking_sentences("known", ranking)]) == 1


@pytest.mark.parametrize("num_seeds", [1, 2])
def test_fewer_than_three_seeds_do_not_say_which_may_be_best(num_seeds, store, tmp_path):
    put_judged(store, tmp_path, {"a": (4, 6)[:num_seeds], "b": (60, 61)[:num_seeds]})

    assert best_configs("known", store)[0].may_be_best is None


def test_arms_without_a_finished_trial_are_named_with_what_became_of_them(store):
    wild = [unfinished("wild", seed, Outcome.DIVERGED, "nan") for seed in (0, 1)]
    complete = [finished("whole", seed, 9) for seed in (0, 1)]
    put_sweep(store, manifest_of(["whole", "wild"], [0, 1]), [*complete, *wild])
    sentences = [*ranking_sentences("known", ranked_configs("known", store))]

    assert sentences[-1] == "Without a finished trial, and so without a place: wild (2 diverged)."


def test_where_none_has_finished_no_trial_is_waited_for(store):
    wild = [unfinished("wild", seed, Outcome.DIVERGED, "nan") for seed in (0, 1)]
    put_sweep(store, manifest_of(["wild"], [0, 1]), wild)

    assert [*ranking_sentences("known", ranked_configs("known", store))] == [
        "No trial of known has finished.",
        "Without a finished trial, and so without a place: wild (2 diverged).",
    ]
