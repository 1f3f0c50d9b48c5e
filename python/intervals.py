"""Statistics of times that were measured in turn: medians over rounds, means over tasks, 95 % bootstrap intervals.

A time is the list of its rounds, everywhere. Intervals draw tasks again, and rounds within them; each is a triple of the
value, its lower and its upper end, the same for the same times.
"""
import math
import random


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def bootstrap(value, tasks, draws):
    """`value` of tasks, each a tuple of times, and its interval."""
    generator = random.Random(1)

    def redrawn(times):
        return [[generator.choice(rounds) for _ in rounds] for rounds in times]

    def drawn():
        return [redrawn(times) for times in [generator.choice(tasks) for _ in tasks]]

    spread = sorted(value(drawn()) for _ in range(draws))
    return value(tasks), spread[int(0.025 * draws)], spread[int(0.975 * draws)]


def interval(pairs, draws=2000):
    """The geometric mean of median(a) / median(b) over the pairs."""
    return bootstrap(lambda tasks: geometric_mean([median(a) / median(b) for a, b in tasks]), pairs, draws)


def log_share(triples):
    """sum of log(default / ours) over sum of log(default / best), of triples default, ours, best."""
    closed = sum(math.log(median(default) / median(ours)) for default, ours, _ in triples)
    return closed / sum(math.log(median(default) / median(best)) for default, _, best in triples)


def share_interval(triples, draws=2000):
    return bootstrap(log_share, triples, draws)


def interval_text(values):
    return "{:.3f} ({:.3f} to {:.3f})".format(*values) if values else "-"
