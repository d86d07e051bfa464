"""_stats_scipy.py - makes stats_scipy.inc: python3 _stats_scipy.py > stats_scipy.inc (SciPy)."""
import numpy as np
import scipy
import scipy.stats as st


def table(head, rows):
    print("static const struct { %s[] = {" % head)
    for row in rows:
        print("    {%s}," % ", ".join(row))
    print("};")


def num(value):
    return repr(float(value))


def sample(count, seed):
    """The same numbers as make_sample in stats.c."""
    values, state = [], seed
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        values.append(1000.0 + (state >> 40) % 5000 + (50000 if (state >> 33) % 37 == 0 else 0))
    return np.array(values)


def describe(count, seed):
    v = sample(count, seed)
    mean = v.mean()
    low, high = mean, mean
    if count > 1:
        low, high = st.t.interval(0.95, count - 1, loc=mean, scale=st.sem(v))
    pairs = [(v[i] + v[j]) / 2 for i in range(count) for j in range(i, count)]
    figures = [mean, v.std(ddof=1) if count > 1 else 0.0, np.median(v), st.median_abs_deviation(v)]
    quantiles = "{%s}" % ", ".join(map(num, np.percentile(v, [50, 90, 95, 99])))
    rest = [low, high, np.median(pairs)]
    return [str(count), str(seed), *map(num, figures), quantiles, *map(num, rest)]


def equivalence(count, seed, margin):
    v = (sample(count, seed) % 1000) / 1000 - 0.5
    p = max(st.ttest_1samp(v, -margin, alternative="greater").pvalue,
            st.ttest_1samp(v, margin, alternative="less").pvalue)
    return [str(count), str(seed), num(margin), num(p)]


def binomial(n, p, q):
    k = st.binom.ppf(q, n, p)
    return map(num, (k, n, p, st.binom.cdf(k, n, p)))


print("/* stats_scipy.inc - what SciPy %s says; made by _stats_scipy.py. */" % scipy.__version__)
table("double p, freedom, quantile; } student",
      (map(num, (p, f, st.t.ppf(p, f))) for f in (1, 2, 3, 7, 11, 30, 100, 2000)
       for p in (0.001, 0.025, 0.2, 0.5, 0.8, 0.95, 0.975, 0.9995)))
table("double p, quantile; } normal", (map(num, (p, st.norm.ppf(p))) for p in
      (1e-9, 0.001, 0.025, 0.3, 0.5, 0.9, 0.975, 0.999999)))
table("double k, n, p, cdf; } binomial", (binomial(n, p, q) for n in (1, 6, 20, 368, 3688, 100000)
      for p in (0.5, 0.9, 0.99) for q in (0.025, 0.5, 0.975)))
table("size_t n; uint64_t seed; double mean, std, median, mad, q[4], low, high, hl; } samples",
      (describe(*pair) for pair in ((1, 1), (2, 2), (5, 3), (10, 4), (37, 5), (400, 6))))
table("size_t n; uint64_t seed; double margin, p; } equivalence",
      (equivalence(*row) for row in ((8, 7, 0.2), (8, 7, 2.0), (30, 8, 0.5), (30, 9, 1.0))))
