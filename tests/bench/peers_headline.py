"""peers_headline.py - the headline of the comparison with other engines counts the verdicts of its
rows: a ratio above 1 that the verdict calls the same or inconclusive is not a lead."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.getcwd(), "bench", "peers"))
import report  # noqa: E402


def row(ratio, verdict, unsteady=False):
    return {"workload": "relu_1m", "threads": 1, "numerics": "exact", "ratio": ratio,
            "best": "torch", "verdict": verdict, "unsteady": unsteady}


def check(rows, want, behind):
    result = {"rows": rows}
    got = report.headline(result)
    assert got == want, got
    assert report.behind(result) == behind, report.behind(result)


check([row(2, "faster"), row(1.5, "faster", True), row(1.01, "same"), row(0.99, "same"),
       row(1.2, "inconclusive"), row(0.9, "slower")],
      "Takt against the best peer: 2 faster, 2 same, 1 inconclusive, 1 slower of 6 rows; "
      "1 unsteady", ["relu_1m 1T 0.900 of torch"])
check([row(0.8, "slower")], "Takt against the best peer: 0 faster, 1 slower of 1 rows",
      ["relu_1m 1T 0.800 of torch"])
check([row(1.1, "faster"), {**row(None, None), "agree": False}],
      "Takt against the best peer: 1 faster, 1 without a verdict of 2 rows", [])
print("the headline follows the verdicts")
