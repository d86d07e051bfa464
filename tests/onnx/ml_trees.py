"""ml_trees.py - tree ensembles of ai.onnx.ml against a walk through the trees in plain Python."""
import itertools
import math
import random
import struct
import sys

from _ml import POSTS, again, best, check, done, f32, inputs, pair, single, transform
from _pb import tensor

MODES = {"BRANCH_LEQ": lambda a, b: a <= b, "BRANCH_LT": lambda a, b: a < b,
         "BRANCH_GTE": lambda a, b: a >= b, "BRANCH_GT": lambda a, b: a > b,
         "BRANCH_EQ": lambda a, b: a == b, "BRANCH_NEQ": lambda a, b: a != b}


class Forest:
    """Random trees; nodes are (mode, feature, split, true, false, tracks) or a dict of weights."""

    def __init__(self, seed, features=3, classes=(0,), trees=4, modes=tuple(MODES), low=-1.0,
                 tracks=False, depth=4, full=True):
        self.random = random.Random(seed)
        self.classes, self.modes, self.low, self.tracks = list(classes), modes, low, tracks
        self.features, self.full = features, full
        self.trees = [self.grow(depth if i else 0) for i in range(trees)]

    def leaf(self):
        chosen = [k for k in self.classes if self.full or self.random.random() < 0.5]
        return {k: f32(self.random.uniform(self.low, 1)) for k in chosen or self.classes[:1]}

    def grow(self, depth):
        """A list of nodes, the root first."""
        nodes = [None]
        places = [(0, depth)]
        while places:
            at, left = places.pop()
            if left == 0 or self.random.random() < 0.1:
                nodes[at] = self.leaf()
                continue
            nodes[at] = (self.random.choice(self.modes), self.random.randrange(self.features),
                         float(self.random.randint(-2, 2)), len(nodes), len(nodes) + 1,
                         self.tracks and self.random.random() < 0.5)
            places += [(len(nodes), left - 1), (len(nodes) + 1, left - 1)]
            nodes += [None, None]
        return nodes

    def leaves(self, row):
        for nodes in self.trees:
            at = 0
            while isinstance(nodes[at], tuple):
                mode, feature, split, yes, no, tracks = nodes[at]
                x = row[feature]
                at = yes if MODES[mode](x, split) or (tracks and math.isnan(x)) else no
            yield nodes[at]

    def total(self, row, k, how="SUM"):
        weights = [leaf[k] for leaf in self.leaves(row) if k in leaf]
        if how in ("MIN", "MAX"):
            return (min if how == "MIN" else max)(weights, default=0)
        return math.fsum(weights) / (len(self.trees) if how == "AVERAGE" else 1)

    def attrs(self, what, as_tensor=False):
        """Node numbers are neither dense nor sorted, tree numbers are not indices."""
        out = {f"nodes_{key}": [] for key in (
            "treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids",
            "missing_value_tracks_true")}
        weights = {f"{what}_{key}": [] for key in ("treeids", "nodeids", "ids", "weights")}
        for t, nodes in enumerate(self.trees):
            tree, number = 7 * t + 2, [(11 * i + t) % 1009 for i in range(len(nodes))]
            if "--runtime" in sys.argv:  # which knows only the plain numbering
                tree, number = t, list(range(len(nodes)))
            for i, entry in enumerate(nodes):
                leaf = isinstance(entry, dict)
                mode, feature, split, yes, no, tracks = ("LEAF", 0, 0.0, 0, 0, False) if leaf \
                    else entry
                for key, item in zip(out, (tree, number[i], feature, mode, split,
                                           0 if leaf else number[yes], 0 if leaf else number[no],
                                           int(tracks))):
                    out[key].append(item)
                for k, w in entry.items() if leaf else ():
                    for key, item in zip(weights, (tree, number[i], k, w)):
                        weights[key].append(item)
        out.update(weights)
        if as_tensor:
            for key in ("nodes_values", f"{what}_weights"):
                items = out.pop(key)
                out[key + "_as_tensor"] = tensor("t", [len(items)], 11,
                                                 struct.pack(f"<{len(items)}d", *items))
        return out


def regressors():
    for targets, how, post in itertools.product((1, 3), ("SUM", "AVERAGE", "MIN", "MAX"), POSTS):
        low = 0.05 if post == "PROBIT" else -1.0
        forest = Forest(targets, classes=range(targets), low=low, trees=5)
        x = inputs(targets)
        base = [f32(0.1 * (k + 1)) for k in range(targets)] if how != "AVERAGE" else []
        rows = [[forest.total(row, k, how) + (base[k] if base else 0) for k in range(targets)]
                for row in x]
        rows = [[single(post, row[0])] if targets == 1 else transform(post, row) for row in rows]
        if any(not math.isfinite(v) for row in rows for v in row):
            rows = None if post != "PROBIT" else rows
        attrs = dict(forest.attrs("target"), n_targets=targets, aggregate_function=how,
                     post_transform=post)
        if base:
            attrs["base_values"] = base
        check(f"regressor {targets} {how} {post}", "TreeEnsembleRegressor", x, {"y": (rows, 1)},
              **attrs)
    for how in ("MIN", "MAX", "SUM"):  # targets that some leaves do not have
        forest = Forest(5, classes=range(3), full=False, trees=3)
        x = inputs(6)
        check(f"regressor sparse {how}", "TreeEnsembleRegressor", x,
              {"y": ([[forest.total(row, k, how) for k in range(3)] for row in x], 1)},
              **forest.attrs("target"), n_targets=3, aggregate_function=how)
    for mode in MODES:
        forest = Forest(8, modes=(mode,), tracks=True)
        x = inputs(9, nan=True)
        check(f"regressor {mode} NaN", "TreeEnsembleRegressor", x,
              {"y": ([[forest.total(row, 0)] for row in x], 1)}, n_targets=1,
              **forest.attrs("target"))
    for x_type in (6, 7, 11):
        forest = Forest(12)
        x = [[v if x_type == 11 else int(v) for v in row] for row in inputs(13)]
        check(f"regressor of type {x_type}", "TreeEnsembleRegressor", x,
              {"y": ([[forest.total(row, 0)] for row in x], 1)}, x_type=x_type,
              **forest.attrs("target", as_tensor=x_type == 11), n_targets=1)


def classified(forest, labels, x, post, base):
    """Labels and scores as the head of TreeEnsembleClassifier.c says."""
    names, scores = [], []
    weights = [w for nodes in forest.trees for n in nodes if isinstance(n, dict)
               for w in n.values()]
    positive = min(weights) >= 0
    for row in x:
        s = [forest.total(row, k) for k in range(len(labels))]
        s = [a + b for a, b in zip(s, base + [0] * len(s))]
        if len(labels) == 1:
            names.append(int(s[0] > 0))
            scores.append([single(post, s[0])])
        elif len(labels) == 2 and len(forest.classes) == 1:
            k = forest.classes[0]
            names.append(labels[int(s[k] > (0.5 if positive else 0))])
            scores.append(pair(post, s[0], not positive) if k == 0 else transform(post, s))
        else:
            names.append(labels[best(s)])
            scores.append(transform(post, s))
    return {"l": (names, 7), "p": (scores, 1)}


def classifiers():
    for classes, low, post in itertools.product(((0,), (1,), (0, 1), (0, 1, 2)), (0.01, -1.0),
                                                POSTS):
        if post == "PROBIT" and (low < 0 or classes == (0,)):
            continue
        forest = Forest(26 + len(classes), classes=classes, low=low, trees=9)
        if post == "PROBIT":  # keep sums below 1
            for nodes in forest.trees:
                for entry in nodes:
                    if isinstance(entry, dict):
                        entry.update({k: f32(w / 10) for k, w in entry.items()})
        labels = [5, -3, 40][:max(2, len(classes))]
        x = inputs(21)
        base = [f32(0.05)] * {(0,): 1, (0, 1, 2): 3}.get(classes, 0)
        attrs = dict(forest.attrs("class"), classlabels_int64s=labels, post_transform=post)
        if base:
            attrs["base_values"] = base
        check(f"classifier {classes} {low} {post}", "TreeEnsembleClassifier", x,
              classified(forest, labels, x, post, base),
              tolerance=5e-4 if post == "PROBIT" else 2e-5, **attrs)
    forest = Forest(30)
    x = inputs(31)
    check("classifier with one label", "TreeEnsembleClassifier", x,
          classified(forest, [1], x, "NONE", []), **forest.attrs("class"), classlabels_int64s=[1])
    forest = Forest(33, classes=(0, 1, 2))
    x = [[float(v) for v in row] for row in inputs(34)]
    check("classifier of doubles", "TreeEnsembleClassifier", x,
          classified(forest, [0, 1, 2], x, "SOFTMAX", []), x_type=11,
          **forest.attrs("class", as_tensor=True), classlabels_int64s=[0, 1, 2],
          post_transform="SOFTMAX")


def emitted():
    """A forest that is written again is one node of the standard, and says the same."""
    for name, sets in (("sum", {}), ("min", {"aggregate_function": "MIN"}), ("sparse", {})):
        forest = Forest(51, classes=range(3), full=name != "sparse", tracks=True)
        x = inputs(52, nan=True)
        how = sets.get("aggregate_function", "SUM")
        rows = [[forest.total(row, k, how) for k in range(3)] for row in x]
        check(f"emitted {name}", "TreeEnsembleRegressor", x, {"y": (rows, 1)}, n_targets=3,
              **forest.attrs("target"), **sets)
        again(f"emitted {name}")


def broken_trees():
    x = inputs(1)
    good = Forest(40, classes=(0, 1, 2)).attrs("class")
    good["classlabels_int64s"] = [0, 1, 2]

    def bad(name, words, **change):
        check(name, "TreeEnsembleClassifier", x, words, **{**good, **change})

    first = next(i for i, m in enumerate(good["nodes_modes"]) if m != "LEAF")
    loop = list(good["nodes_truenodeids"])
    loop[first] = good["nodes_nodeids"][first]
    bad("a loop", "leads back to itself", nodes_truenodeids=loop)
    lost = list(good["nodes_truenodeids"])
    lost[first] = 5000
    bad("a lost node", "has no node 5000", nodes_truenodeids=lost)
    twice = list(good["nodes_nodeids"])
    twice[first + 1] = twice[first]
    bad("a node twice", "twice", nodes_nodeids=twice)
    far = list(good["nodes_featureids"])
    far[first] = 99
    bad("a feature that is not there", "looks at feature 99 of 3", nodes_featureids=far)
    bad("a mode that is none", 'mode "BRANCH_X"',
        nodes_modes=["BRANCH_X"] + good["nodes_modes"][1:])
    bad("a short list", "different lengths", nodes_values=good["nodes_values"][1:])
    bad("a class that is not there", "a weight of class 9", class_ids=[9] + good["class_ids"][1:])
    bad("labels of strings", "labels are strings", classlabels_int64s=[],
        classlabels_strings=["a", "b", "c"])
    bad("bases for others", "2 base_values for 3 classes", base_values=[0.5, 0.5])
    few = Forest(42).attrs("target")
    check("targets out of all proportion", "TreeEnsembleRegressor", x, "with 8388608 targets",
          n_targets=1 << 23, **few)
    one = Forest(41).attrs("class")
    check("PROBIT of a pair", "TreeEnsembleClassifier", x, "PROBIT of one score",
          classlabels_int64s=[0, 1], post_transform="PROBIT", **one)


if __name__ == "__main__":
    regressors()
    classifiers()
    emitted()
    broken_trees()
    done(91, 11)
