"""tails.py - p99 over median: how far the slowest of a hundred runs is from the usual one."""
from late import np

ROW = "mlp_b1"  # where it is felt most
DRAWS = 200


def _tail(samples):
    middle, slow = np.quantile(samples, (0.5, 0.99))
    return slow / middle


def interval(mine, other):
    """95 % interval of my tail over the other's: alternating blocks of samples are resampled, the
    same ones for both."""
    count = min(len(mine), len(other))
    mine, other = ([np.asarray(block) for block in blocks[:count]] for blocks in (mine, other))
    random, found = np.random.default_rng(0), []
    for _ in range(DRAWS):
        drawn = random.integers(count, size=count)
        found.append(_tail(np.concatenate([mine[i] for i in drawn]))
                     / _tail(np.concatenate([other[i] for i in drawn])))
    return [float(end) for end in np.quantile(found, (0.025, 0.975))]


def of_row(row):
    """{engine: p99 over median} of a row of the table."""
    return {name: slow / row[name] for name, slow in row["p99"].items() if row.get(name)}


def over_best(row):
    """Takt's over that of the fastest peer; None if there is none."""
    tails = of_row(row)
    return tails["takt"] / tails[row["best"]] if row.get("best") in tails else None


def over_steadiest(row):
    """Takt's over the smallest of all peers, however slow they are."""
    tails = of_row(row)
    peers = [tail for name, tail in tails.items() if name != "takt"]
    return tails["takt"] / min(peers) if peers else None
