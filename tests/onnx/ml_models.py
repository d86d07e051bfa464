"""ml_models.py - support vector machines, linear models and encoders of ai.onnx.ml against sums
done in plain Python."""
import itertools
import math
import random
import struct

from _ml import POSTS, best, check, done, f32, inputs, pair, sigmoid, single, transform
from _pb import tensor

# ---- machines ----

def kernel(kind, params, a, b):
    gamma, offset, degree = params
    dot = sum(p * q for p, q in zip(a, b))
    if kind == "RBF":
        return math.exp(-gamma * sum((p - q) ** 2 for p, q in zip(a, b)))
    if kind == "POLY":
        return (gamma * dot + offset) ** degree
    return math.tanh(gamma * dot + offset) if kind == "SIGMOID" else dot


def coupled(r):
    """Wu, Lin, Weng 2004, second method, stopped where libsvm stops."""
    k = len(r)
    q = [[-r[j][i] * r[i][j] if i != j else sum(r[m][i] ** 2 for m in range(k) if m != i)
          for j in range(k)] for i in range(k)]
    p = [1 / k] * k
    for _ in range(100):
        qp = [sum(a * b for a, b in zip(row, p)) for row in q]
        pqp = sum(a * b for a, b in zip(p, qp))
        if max(abs(a - pqp) for a in qp) < 0.005 / k:
            break
        for t in range(k):
            diff = (pqp - qp[t]) / q[t][t]
            p[t] += diff
            pqp = (pqp + diff * (diff * q[t][t] + 2 * qp[t])) / (1 + diff) ** 2
            qp = [(a + diff * b) / (1 + diff) for a, b in zip(qp, q[t])]
            p = [a / (1 + diff) for a in p]
    return p


def machine(seed, per_class):
    generator = random.Random(seed)
    draw = lambda n: [f32(generator.uniform(-1, 1)) for _ in range(n)]  # noqa: E731
    supports, classes = sum(per_class), len(per_class)
    pairs = classes * (classes - 1) // 2
    return dict(support_vectors=draw(3 * supports), coefficients=draw((classes - 1) * supports),
                rho=draw(pairs)), [f32(-0.5 - v / 4) for v in draw(pairs)], draw(pairs)


def decided(attrs, per_class, kind, params, row):
    """Scores of all pairs."""
    supports = sum(per_class)
    first = [sum(per_class[:i]) for i in range(len(per_class))]
    k = [kernel(kind, params, row, attrs["support_vectors"][3 * i:3 * i + 3])
         for i in range(supports)]
    scores = []
    for i, j in itertools.combinations(range(len(per_class)), 2):
        s = attrs["rho"][len(scores)]
        for m in range(per_class[i]):
            s += attrs["coefficients"][(j - 1) * supports + first[i] + m] * k[first[i] + m]
        for m in range(per_class[j]):
            s += attrs["coefficients"][i * supports + first[j] + m] * k[first[j] + m]
        scores.append(s)
    return scores


def svm_scores(scores, classes, post, a, b):
    if a:
        r = [[0.0] * classes for _ in range(classes)]
        for n, (i, j) in enumerate(itertools.combinations(range(classes), 2)):
            r[i][j] = min(max(sigmoid(-(scores[n] * a[n] + b[n])), 1e-7), 1 - 1e-7)
            r[j][i] = 1 - r[i][j]
        return transform(post, coupled(r))
    if classes == 2:
        return pair(post, scores[0], post == "NONE")
    return transform(post, scores)


def svm_classifiers():
    params = [f32(0.4), f32(0.3), 3.0]
    for per_class, kind, proba, post in itertools.product(
            ([2, 3], [3, 1, 2, 2]), ("LINEAR", "POLY", "RBF", "SIGMOID"), (False, True), POSTS):
        if post != "NONE" and kind != "RBF" or (post == "PROBIT" and not proba):
            continue
        attrs, a, b = machine(len(per_class), per_class)
        labels, x = [10, 20, 30, 40][:len(per_class)], inputs(50)
        names, rows = [], []
        for row in x:
            scores = decided(attrs, per_class, kind, params, row)
            votes = [0] * len(per_class)
            for s, (i, j) in zip(scores, itertools.combinations(range(len(per_class)), 2)):
                votes[i if s > 0 else j] += 1
            names.append(labels[best(votes)])
            rows.append(svm_scores(scores, len(per_class), post, a if proba else [], b))
        if proba:
            attrs.update(prob_a=a, prob_b=b)
        # Where the iteration stops may differ by a step in single precision.
        check(f"SVMClassifier {len(per_class)} {kind} {proba} {post}", "SVMClassifier", x,
              {"l": (names, 7), "p": (rows, 1)}, version=1, tolerance=1e-4, **attrs,
              vectors_per_class=per_class, kernel_type=kind, kernel_params=params,
              classlabels_ints=labels, post_transform=post)
    generator = random.Random(3)
    for classes, low in ((2, 0), (2, -1), (3, -1)):
        w = [f32(generator.uniform(low, 1)) for _ in range(3 * classes)]
        labels, x, names, rows = [4, 5, 6][:classes], inputs(52), [], []
        for row in x:
            s = [0.25 + sum(p * q for p, q in zip(row, w[3 * k:])) for k in range(classes)]
            wins = classes == 2 and (max(s) >= 0.5 if low == 0 else max(s) > 0)
            names.append(labels[1 if wins else best(s)])
            rows.append(s)
        check(f"SVMClassifier without vectors {classes} {low}", "SVMClassifier", x,
              {"l": (names, 7), "p": (rows, 1)}, version=1, coefficients=w, rho=[0.25],
              classlabels_ints=labels, kernel_type="LINEAR", kernel_params=[0.0, 0.0, 0.0])


def linear_models():
    generator = random.Random(4)
    for classes, post in itertools.product((1, 2, 3), POSTS):
        low = 0.0 if post == "PROBIT" else -1.0
        w = [f32(generator.uniform(low, 1) / (8 if low == 0 else 1)) for _ in range(3 * classes)]
        b = [f32(generator.uniform(0.2, 0.3)) for _ in range(classes)]
        x = [[abs(v) / 2 if low == 0 else v for v in row] for row in inputs(53)]
        x = [[f32(v) for v in row] for row in x]
        labels, names, rows, plain = [8, 9, 7][:max(2, classes)], [], [], []
        for row in x:
            s = [b[k] + sum(p * q for p, q in zip(row, w[3 * k:])) for k in range(classes)]
            names.append(labels[best(s) if classes > 1 else int(s[0] > 0)])
            plain.append(transform(post, s) if classes > 1 else [single(post, s[0])])
            if classes > 1 or post != "PROBIT":
                rows.append(transform(post, s) if classes > 1 else pair(post, s[0], False))
        if rows:
            check(f"LinearClassifier {classes} {post}", "LinearClassifier", x,
                  {"l": (names, 7), "p": (rows, 1)}, version=1, coefficients=w, intercepts=b,
                  classlabels_ints=labels, post_transform=post)
        check(f"LinearRegressor {classes} {post}", "LinearRegressor", x, {"y": (plain, 1)},
              version=1, tolerance=1e-4, coefficients=w, intercepts=b, targets=classes,
              post_transform=post)


# ---- columns ----

def small_ones():
    x = [[3.0, -4.0, 0.0], [0.0, 0.0, 0.0], [-1.0, -2.0, -5.0]]
    norms = {"MAX": max, "L1": lambda r: sum(map(abs, r)), "L2": lambda r: math.hypot(*r)}
    for norm, of in norms.items():
        check(f"Normalizer {norm}", "Normalizer", x,
              {"y": ([[v / (of(r) or 1) for v in r] for r in x], 1)}, version=1, norm=norm)
    x = [[1, 5, 9], [2, 2, 7]]
    cats = [5, 2, 9]
    one = [[[float(v == k) for k in cats] for v in r] for r in x]
    flat = [[v for cell in r for v in cell] for r in one]
    for kind in (1, 7):
        rows = [[float(v) for v in r] for r in x] if kind == 1 else x
        check(f"OneHotEncoder of type {kind}", "OneHotEncoder", [r[0] for r in rows],
              {"y": ([r[:3] for r in flat], 1)}, version=1, x_type=kind, cats_int64s=cats)
    keys = tensor("k", [3], 7, struct.pack("<3q", 1, 5, 7))
    values = tensor("v", [3], 1, struct.pack("<3f", 0.5, 1.5, 2.5))
    other = tensor("d", [1], 1, struct.pack("<f", -9))
    mapped = {1: 0.5, 5: 1.5, 7: 2.5}
    check("LabelEncoder of tensors", "LabelEncoder", x,
          {"y": ([[mapped.get(v, -9.0) for v in r] for r in x], 1)}, version=4, x_type=7,
          keys_tensor=keys, values_tensor=values, default_tensor=other)
    check("LabelEncoder of lists", "LabelEncoder", x,
          {"y": ([[{5: 50, 2: 20}.get(v, 77) for v in r] for r in x], 7)}, version=2, x_type=7,
          keys_int64s=[5, 2], values_int64s=[50, 20], default_int64=77)
    check("LabelEncoder of strings", "LabelEncoder", x, "strings", version=2, x_type=7,
          keys_int64s=[5, 2], values_strings=["a", "b"])
    check("ZipMap goes through", "ZipMap", [[0.25, 0.75], [1.0, 0.0]],
          {"y": ([[0.25, 0.75], [1.0, 0.0]], 1)}, version=1, classlabels_int64s=[3, 4])
    check("ZipMap of other columns", "ZipMap", [[0.25, 0.75]], "3 labels for 2 columns", version=1,
          classlabels_int64s=[3, 4, 5])


if __name__ == "__main__":
    svm_classifiers()
    linear_models()
    small_ones()
    done(60, 2)
