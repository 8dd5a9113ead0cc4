"""An ablation table computed anew from `trials.csv` and the predictions, by code of its own.

Nothing of the product is imported: files are parsed and formulas written out here, slowly, with
loops and scipy.stats.
"""

import csv
import json
import math
import struct
from pathlib import Path

import numpy as np
from scipy import stats


def wrong_images(path: Path) -> list[int]:
    """Return 1 for each test image that a trial's network errs on, else 0."""
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])

    def tensor(name: str) -> list[int]:
        assert header[name]["dtype"] == "U8"
        first, last = header[name]["data_offsets"]
        return list(content[8 + size + first : 8 + size + last])

    predicted, true = tensor("predictions"), tensor("labels")
    return [int(guess != label) for guess, label in zip(predicted, true, strict=True)]


def recomputed(trials: Path, cells: Path, baseline: str) -> dict[str, dict[str, float]]:
    """Return what stands in the rows of an ablation table, in points: arm -> column -> value."""
    wrong: dict[str, dict[int, list[int]]] = {}
    losses: dict[str, list[tuple[str, str]]] = {}
    with trials.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            (path,) = (cells / row["trial_key"]).glob("predictions*.safetensors")
            is_wrong = wrong_images(path)
            assert sum(is_wrong) / len(is_wrong) == float(row["test_error"])
            wrong.setdefault(row["arm"], {})[int(row["seed"])] = is_wrong
            losses.setdefault(row["arm"], []).append((row["train_loss"], row["validation_loss"]))
    rows = {arm: _of_arm(by_seed) for arm, by_seed in wrong.items()}
    groups: list[list[str]] = []
    for arm in wrong:
        known = wrong[arm], losses[arm]
        same = [group for group in groups if (wrong[group[0]], losses[group[0]]) == known]
        same[0].append(arm) if same else groups.append([arm])
    compared = [group for group in groups if baseline not in group]
    parts = [_parts(wrong[group[0]], wrong[baseline]) for group in compared]
    shared = _shared([wrong[group[0]] for group in compared], wrong[baseline], parts)
    tested = [_tested(*both) for both in zip(parts, shared, strict=True)]
    for test, adjusted in zip(tested, _holm([test["p"] for test in tested]), strict=True):
        test["adjusted_p"] = adjusted
    for group, of_group, own, of_all in zip(compared, tested, parts, shared, strict=True):
        mean = of_group["difference_points"]
        alone, together = (_half(own, of_all, level) for level in (0.95, 1 - 0.05 / len(compared)))
        ends = {
            "difference_points_low": mean - alone,
            "difference_points_high": mean + alone,
            "simultaneous_points_low": mean - together,
            "simultaneous_points_high": mean + together,
        }
        for arm in group:
            rows[arm] |= of_group | ends
    return rows


def verdicts(arms: list[dict[int, list[int]]], baseline: dict[int, list[int]]) -> list[float]:
    """Return the adjusted p value of each arm; an arm with one below .05 is in bold.

    Args:
        arms: Error of each arm on each image, by seed.
        baseline: The same of the baseline.
    """
    parts = [_parts(arm, baseline) for arm in arms]
    both = zip(parts, _shared(arms, baseline, parts), strict=True)
    return _holm([_tested(part, shared)["p"] for part, shared in both])


def _holm(p_values: list[float]) -> list[float]:
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, largest = [0.0] * len(order), 0.0
    for step, place in enumerate(order):
        largest = min(1.0, max(largest, p_values[place] * (len(order) - step)))
        adjusted[place] = largest
    return adjusted


def _of_arm(by_seed: dict[int, list[int]]) -> dict[str, float]:
    errors = [100 * sum(is_wrong) / len(is_wrong) for is_wrong in by_seed.values()]
    deviation = float(np.std(errors, ddof=1))
    return {
        "n": len(errors),
        "test_error_percent": sum(errors) / len(errors),
        "test_error_percent_sd": deviation,
        "test_error_percent_se": deviation / math.sqrt(len(errors)),
        "test_error_percent_min": min(errors),
        "test_error_percent_max": max(errors),
    }


def _parts(arm: dict[int, list[int]], baseline: dict[int, list[int]]) -> dict[str, float]:
    """Return the mean difference and the parts of its variance, in points and their squares."""
    d = [[100 * (a - b) for a, b in zip(arm[s], baseline[s], strict=True)] for s in sorted(arm)]
    seeds, images = len(d), len(d[0])
    mean = sum(map(sum, d)) / (seeds * images)
    by_seed = [sum(row) / images for row in d]
    by_image = [sum(row[i] for row in d) / seeds for i in range(images)]
    rest = sum(
        (d[s][i] - by_seed[s] - by_image[i] + mean) ** 2
        for s in range(seeds)
        for i in range(images)
    )
    of_seeds = sum((seed_mean - mean) ** 2 for seed_mean in by_seed) / (seeds - 1)
    of_images = sum((image_mean - mean) ** 2 for image_mean in by_image) / (images - 1)
    of_rest = rest / ((seeds - 1) * (images - 1))
    return {
        "mean": mean,
        "seeds": of_seeds / seeds,
        "images": of_images / images,
        "rest": of_rest / (seeds * images),
        "S": seeds,
        "N": images,
    }


def _shared(
    arms: list[dict[int, list[int]]],
    baseline: dict[int, list[int]],
    parts: list[dict[str, float]],
) -> list[dict[str, float]]:
    """Return the variance over seeds that each comparison has in common with the others."""
    means = [[float(np.mean(arm[s])) for s in sorted(arm)] for arm in (baseline, *arms)]
    means = [[mean - float(np.mean(row)) for mean in row] for row in means]  # arms err unlike
    middle = [float(np.median(column)) for column in zip(*means, strict=True)]
    own = [
        float(np.var([m - c for m, c in zip(row, middle, strict=True)], ddof=1)) for row in means
    ]
    num, seeds = len(arms), parts[0]["S"]
    ratio = max(own[0] / (sum(own[1:]) / num), 1.0)
    share = num * (1 + ratio) ** 2 / ((1 + ratio) ** 2 + (num - 1) * ratio**2)
    prior = min(4.0, (seeds - 1) * (share - 1))
    pool = sum(part["seeds"] for part in parts) / num
    result: list[dict[str, float]] = []
    for place, part in enumerate(parts):
        drawn = (prior * pool + (seeds - 1) * part["seeds"]) / (prior + seeds - 1)
        others = (sum(own) - own[place + 1]) / num
        result.append(
            {
                "seeds": max(drawn, pool, part["rest"]),
                "degrees": prior + seeds - 1,
                "is_apart": own[place + 1] > 1.8 * others,
            }
        )
    return result


def _ways(parts: dict[str, float], shared: dict[str, float]) -> list[tuple[float, float]]:
    """Return the standard errors by which a difference has to hold, with degrees of freedom."""
    seeds, images, rest = shared["seeds"], parts["images"], parts["rest"]
    error = math.sqrt(max(seeds + images - rest, seeds, images))
    below = seeds**2 / shared["degrees"] + images**2 / (parts["N"] - 1)
    ways = [(error, (seeds + images) ** 2 / below), (math.sqrt(images), parts["N"] - 1)]
    if shared["is_apart"]:
        ways.append((math.sqrt(parts["seeds"]), parts["S"] - 1))
    return ways


def _half(parts: dict[str, float], shared: dict[str, float], level: float) -> float:
    ways = _ways(parts, shared)
    return max(error * float(stats.t.ppf((1 + level) / 2, degrees)) for error, degrees in ways)


def _p(mean: float, error: float, degrees: float) -> float:
    """Return the p value of a difference, 1 for a difference of 0 without any error."""
    return 2 * float(stats.t.sf(abs(mean) / error, degrees)) if error or mean else 1.0


def _tested(parts: dict[str, float], shared: dict[str, float]) -> dict[str, float]:
    ways, mean = _ways(parts, shared), parts["mean"]
    alone = math.sqrt(parts["seeds"]) * float(stats.t.ppf(0.975, parts["S"] - 1))
    return {
        "difference_points": mean,
        "p": max(_p(mean, error, degrees) for error, degrees in ways),
        "seeds_alone_points_low": mean - alone,
        "seeds_alone_points_high": mean + alone,
        "standard_error_points": ways[0][0],
        "degrees_of_freedom": ways[0][1],
        "seed_part_points": math.sqrt(parts["seeds"]),
        "shared_seed_part_points": math.sqrt(shared["seeds"]),
        "image_part_points": math.sqrt(parts["images"]),
    }


def largest_difference(table: Path, rows: dict[str, dict[str, float]]) -> tuple[float, int]:
    """Return the largest difference of a number from that of `ablation.csv`, and how many are."""
    largest, count = 0.0, 0
    with table.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for name, value in rows[row["arm"]].items():
                largest = max(largest, abs(float(row[name]) - value))
                count += 1
    return largest, count
