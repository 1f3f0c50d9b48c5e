"""What the times of equal_budgets.py say: tables, charts and the verdict."""
import math

from intervals import geometric_mean, interval, interval_text, median, share_interval

NAMES = {"networks": "six networks", "unseen_family": "unseen families", "test_variant": "unseen shapes"}
RATIOS = {0: 0.98, 4: 0.99, 16: 1}  # best search / model of the six networks; with 16 above it
SHARES = {0: 0.7, 4: 0.9}
RIVALS = ["default", "random", "metaschedule", "roller"]
NOISE = 1.01                        # gaps below this are none
DRAWS = 1000


def times_of(row, who, measurements):
    return row["default"] if who == "default" else row["times"][who, measurements]


def time_text(row):
    """The medians of one task, microseconds."""
    times = {"default": row["default"], "model": row["times"]["model", 0], "best search": row["search"], "best known": row["best"]}
    return ", ".join(f"{name} {median(rounds):.1f}" for name, rounds in times.items()) + " us"


def by_time(rows, measurements):
    """Best search / model over all calls together."""
    calls = [sum(row["task"]["calls"]) for row in rows]
    return (sum(n * median(row["search"]) for n, row in zip(calls, rows))
            / sum(n * median(row["times"]["model", measurements]) for n, row in zip(calls, rows)))


def gaps(rows, best):
    """The tasks that leave something to gain."""
    return [row for row in rows if median(row["default"]) > NOISE * median(row[best])]


def share(rows, best, measurements):
    left = gaps(rows, best)
    return share_interval([(row["default"], row["times"]["model", measurements], row[best]) for row in left], DRAWS) if left else None


class Tables:
    """`rows` are tasks as equal_budgets.py judges them, `offline` is (measurements, hours)."""

    def __init__(self, rows, networks, options, host, offline):
        self.rows, self.networks, self.options, self.host, self.offline = rows, networks, options, host, offline
        self.splits = [split for split in options.splits if any(row["split"] == split for row in rows)]
        self.budgets = [0] + [k for k in options.budgets if k < options.trials]
        self.strategies = sorted({who for row in rows for who, _ in row["times"]})
        self.known = {split: {k: self.figures_of(split, k) for k in self.budgets} for split in self.splits}

    def of(self, split):
        return [row for row in self.rows if row["split"] == split]

    def figures_of(self, split, k):
        rows = self.of(split)

        def against(other):
            return interval([(other(row), row["times"]["model", k]) for row in rows], DRAWS)
        rivals = RIVALS + [who for who in self.strategies if who not in RIVALS + ["model"]]
        return dict(tasks=len(rows), ratio=against(lambda row: row["search"]), by_time=by_time(rows, k),
                    with_gap=len(gaps(rows, "search")), share=share(rows, "search", k), share_known=share(rows, "best", k),
                    against={who: against(lambda row, who=who: times_of(row, who, k)) for who in rivals})

    def figures(self):
        return {split: {str(k): values for k, values in known.items()} for split, known in self.known.items()}

    def cost(self):
        count, hours = self.offline
        return f"{count:,} measurements in {hours:.1f} hours"

    def text(self):
        options = self.options
        lines = [f"CPU: {self.host['cpu']} ({self.host['target']}), {options.threads} thread{'s' if options.threads > 1 else ''}; "
                 f"up to {options.tasks} tasks of a split, drawn with seed {options.seed}. The model has learnt from {self.cost()}, "
                 f"offline. Best search: evolutionary, {options.trials} trials a task, or the default schedule. Winners measured "
                 f"again in turn ({options.rounds} rounds), geometric means of medians, intervals of 95 %; above 1 the model is "
                 "faster. " + ("Proposals alone count." if options.bare else
                               "Of the measurements one is of the default schedule, for everyone."), ""]
        rivals = list(next(iter(self.known.values()))[0]["against"])
        columns = ["split", "tasks", "measurements", "best search / model", "by time", "with a gap", "share of it, to the best search",
                   "to the best known", *[f"{who} / model" for who in rivals]]
        lines += [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
        for split, known in self.known.items():
            for k, of in known.items():
                cells = [NAMES[split], of["tasks"], k, interval_text(of["ratio"]), f"{of['by_time']:.3f}", of["with_gap"],
                         interval_text(of["share"]), interval_text(of["share_known"]),
                         *[interval_text(of["against"][who]) for who in rivals]]
                lines.append(f"| {' | '.join(map(str, cells))} |")
        lines += ["", *self.curve_table(), "", *[self.speed(split) for split in self.splits],
                  *[self.whole_text(network) for network in self.networks], ""]
        return "\n".join(lines)

    def curve(self, split, who):
        """[(measurements, best search / strategy)]"""
        rows = self.of(split)
        budgets = sorted({k for row in rows for strategy, k in row["times"] if strategy == who or who == "default"})
        return [(k, geometric_mean([median(row["search"]) / median(times_of(row, who, k)) for row in rows])) for k in budgets]

    def curve_table(self):
        budgets = self.budgets + [self.options.trials]
        lines = [f"| best search / | {' | '.join(f'after {k}' for k in budgets)} |", "|---" * (1 + len(budgets)) + "|"]
        for split in self.splits:
            for who in ["default", *self.strategies]:
                points = dict(self.curve(split, who))
                cells = [f"{points[k]:.3f}" if k in points else "-" for k in budgets]
                lines.append(f"| {NAMES[split]}, {who} | {' | '.join(cells)} |")
        return lines

    def chart(self, split):
        """Arguments of line_chart.write_chart after the path. A choice from one takes no measurement: 0 stands at 1."""
        title = f"Best search / best so far, geometric mean over {len(self.of(split))} tasks of {NAMES[split]}"
        return title, "measurements", {who: [(max(1, k), share) for k, share in self.curve(split, who)]
                                       for who in ["default", *self.strategies]}

    def speed(self, split):
        rows = self.of(split)
        found = sorted(row["reached"] or math.inf for row in rows)
        middle = median(found)
        after = f"more than {self.options.trials}" if middle == math.inf else str(middle)
        rates = [row["rate"] for row in rows if row["rate"]]
        rate = f" at {geometric_mean(rates):.1f} a second" if rates else ""
        return (f"{NAMES[split].capitalize()}: the proposals of the search are as fast as what the model wrote after {after} "
                f"trials{rate}, in the median over tasks; for {sum(n < math.inf for n in found)} of {len(found)} tasks they are within "
                f"{self.options.trials}. Answers that are the default schedule: {sum(row['same'] for row in rows)}; the model wrote "
                f"none for {sum(row['source'] != 'model' for row in rows)}.")

    def whole_text(self, network):
        def after(found):
            more = "" if found["reached"] else "more than "
            return (f"{more}{found['each']} for each, {found['trials']} in all and {found['seconds']:.1f} s, "
                    f"{more}{found['seconds'] / network['compile']:.1f} times the compilation and "
                    f"{found['seconds'] / network['write']:.0f} times the writing")
        cost, model, default = self.cost(), network["model"] / 1e3, network["default"] / 1e3
        return (f"{network['network']}: `tlm compile` takes {network['compile']:.2f} s, {network['write']:.3f} s of it to write the "
                f"schedules, after {cost} offline; its {network['tasks']} tasks with a choice take {model:.2f} ms, with default "
                f"schedules {default:.2f} ms. Proposals of the search, with as many for each task, are first as fast with "
                f"{after(network['proposals'])}; with the default schedule among them {after(network['beside_default'])}; "
                f"{network['rate']:.1f} trials a second.")

    def verdict(self, complete):
        """(whether the goals are met, a line)"""
        goals = self.known.get("networks")
        if not goals:
            return complete, f"{len(self.rows)} tasks, none of the six networks -> {'OK' if complete else 'FAILED'}"
        missed = [f"ratio with {k}" for k, least in RATIOS.items()
                  if k in goals and (goals[k]["ratio"][0] < least or (k == 16 and goals[k]["ratio"][0] <= least))]
        missed += [f"share with {k}" for k, least in SHARES.items()
                   if k in goals and goals[k]["share"] and goals[k]["share"][0] < least]
        missed += [f"{who} with {k}" for k, of in goals.items() for who in RIVALS if of["against"][who][0] <= 1]
        missed += [f"budget {k}" for k in sorted(RATIOS) if k not in goals]
        figures = "; ".join(f"with {k}: best search / model {interval_text(of['ratio'])}, share {interval_text(of['share'])}"
                            for k, of in goals.items())
        ratios = "".join(f"; {n['network']} compiled {'' if n['proposals']['reached'] else 'over '}"
                         f"{n['proposals']['seconds'] / n['compile']:.1f}x sooner than searched" for n in self.networks)
        good = complete and not missed
        return good, (f"{len(self.rows)} tasks; {figures}{ratios}; offline {self.cost()}"
                      + (f"; missed: {', '.join(missed)}" if missed else "") + ("" if complete else "; tasks are left")
                      + f" -> {'OK' if good else 'FAILED'}")
