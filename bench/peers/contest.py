"""contest.py - instances of VNN-COMP: how many `takt verify` decides, and none against others.

    python bench/peers/contest.py [--sets mnistfc,oval21] [--seconds 60] [--jobs 2] [--threads 1]
                                  [--part 0/4] [--log FILE] [--known]

The instances are those of ../shared/data/vnn. The verdicts of nnenum and alpha-beta-CROWN are the
contest's own (contest.tsv): neither can be installed by name, and the second had a GPU there; what
it decides on a core is in bench/notes/verify.md. So their counts say what can be decided; only a
verdict against theirs is an error, and the exit code is 1 then. `--log` appends one line for each
instance, and those that it already has are not run again. `--known` runs only instances that one
of the two decided."""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TOOL = os.path.join(ROOT, os.environ.get("BUILD", "build/release"), "takt")
DATA = os.path.join(os.environ.get("TAKT_DATA", os.path.join(ROOT, "..", "shared", "data")), "vnn")
SETS = {"mnistfc": "mnistfc/mnistfc_instances.csv", "eran": "eran/eran_instances.csv",
        "oval21": "oval21/oval21_instances.csv", "verivital": "verivital/verivital_instances.csv",
        "vit_2023": "vit_2023/instances.csv"}
PEERS = ("nnenum", "alpha-beta-CROWN")
WORDS = {"proved": "holds", "violated": "violated"}
GRACE = 20  # seconds to read the model and to end


def key_of(name, net, spec):
    """As contest.tsv names an instance."""
    parts = spec.split("/")
    return name, net.rsplit("/", 1)[-1], "/".join(parts[-2:] if name == "verivital" else parts[-1:])


def published():
    known = {}
    with open(os.path.join(HERE, "contest.tsv"), encoding="ascii") as file:
        for line in file:
            if line.startswith("#"):
                continue
            words = line.rstrip("\n").split("\t")
            known[tuple(words[:3])] = {
                peer: (words[3 + 2 * i], float(words[4 + 2 * i]))
                for i, peer in enumerate(PEERS) if words[3 + 2 * i] != "-"}
    return known


def instances(name):
    folder = os.path.dirname(SETS[name])
    with open(os.path.join(DATA, SETS[name]), encoding="ascii") as file:
        for row in csv.reader(file):
            if len(row) >= 2:
                yield name, os.path.join(folder, row[0]), os.path.join(folder, row[1])


def decide(instance, given, folder):
    """Verdict and seconds of one instance; a failure is a verdict of its own."""
    _, net, spec = instance
    start = time.time()
    command = [TOOL, "verify", os.path.join(DATA, net), "--property",
               os.path.join(DATA, spec + ".gz"), "--timeout", str(given.seconds), "--threads",
               str(given.threads), "--json", "--counterexample",
               os.path.join(folder, "input.npy")]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False,
                             timeout=given.seconds + GRACE)
        verdict = json.loads(run.stdout)["verdict"] if run.returncode in (0, 1, 5) else "failed"
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        verdict = "failed"
    return WORDS.get(verdict, verdict), time.time() - start


def earlier(path):
    if path is None or not os.path.exists(path):
        return {}
    with open(path, encoding="ascii") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return {tuple(row[:3]): (row[3], float(row[4])) for row in rows if len(row) == 5}


def run_all(given, known):
    part, parts = (int(x) for x in given.part.split("/"))
    todo, found = [], earlier(given.log)
    for name in given.sets.split(","):
        for at, instance in enumerate(instances(name)):
            key = key_of(*instance)
            is_known = key in known and len(known[key]) > 0
            if at % parts == part and key not in found and (is_known or not given.known):
                todo.append(instance)

    def one(instance):
        key = key_of(*instance)
        with tempfile.TemporaryDirectory() as folder:
            verdict, seconds = decide(instance, given, folder)
        found[key] = verdict, seconds
        line = "\t".join((*key, verdict, f"{seconds:.1f}"))
        print(line, flush=True)
        if given.log is not None:
            with open(given.log, "a", encoding="ascii") as file:
                file.write(line + "\n")

    with ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(one, todo))
    return found


def report(given, known, found):
    """The table; returns how many verdicts are against one of the contest."""
    against = 0
    print(f"{'set':10} {'instances':>9} {'holds':>6} {'violated':>8} {'unknown':>8} {'failed':>6} "
          f"{PEERS[0]:>7} {PEERS[1]:>17} {'against':>8}")
    for name in given.sets.split(","):
        mine = {key: value for key, value in found.items() if key[0] == name}
        wrong = [key for key, (verdict, _) in mine.items() for other, _ in
                 known.get(key, {}).values() if verdict in WORDS.values() and verdict != other]
        peers = [sum(known.get(key, {}).get(peer, ("", 1e9))[1] <= given.seconds for key in mine)
                 for peer in PEERS]
        count = {word: sum(v == word for v, _ in mine.values())
                 for word in ("holds", "violated", "unknown", "failed")}
        print(f"{name:10} {len(mine):9} {count['holds']:6} {count['violated']:8} "
              f"{count['unknown']:8} {count['failed']:6} {peers[0]:7} {peers[1]:17} "
              f"{len(wrong):8}")
        for key in wrong:
            print("against:", *key, found[key], known[key])
        against += len(wrong)
    return against


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--log")
    parser.add_argument("--known", action="store_true")
    given = parser.parse_args()
    if not os.path.isdir(DATA):
        print("contest: skipped, no ../shared/data/vnn")
        return
    known = published()
    sys.exit(1 if report(given, known, run_all(given, known)) else 0)


if __name__ == "__main__":
    main()
