"""train_rows.py - bench/train/run measures a row against a peer, names one that is missing, and
keeps its table. The peer is a Python without packages, so no other engine is needed."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.getcwd()
TAKT = os.environ.get("TAKT_TOOL", os.path.join(ROOT, "build", "takt"))


def measured(folder, peer):
    """The output of the row mlp against torch, where peer_torch.py has this text."""
    bench = os.path.join(folder, "train")
    shutil.copytree(os.path.join(ROOT, "bench", "train"), bench, dirs_exist_ok=True)
    with open(os.path.join(bench, "peer_torch.py"), "w", encoding="utf-8") as file:
        file.write(peer)
    run = subprocess.run([sys.executable, os.path.join(bench, "run"), "--rows", "mlp", "--peers",
                          "torch", "--rounds", "2", "--seconds", "0.02", "--out", folder],
                         capture_output=True, text=True, env={**os.environ, "TAKT": TAKT},
                         check=False)
    if run.returncode != 0:
        sys.exit(f"FAILED: exit {run.returncode}: {run.stderr}")
    kept = [name for name in os.listdir(folder) if name.endswith(".json")]
    with open(os.path.join(folder, kept[0]), encoding="utf-8") as file:
        return run.stdout, json.load(file)["rows"][0]


with tempfile.TemporaryDirectory() as folder:
    PEER = "print('{\"ms\": 1000, \"bytes\": 1048576, \"parameters\": 203530}')\n"
    out, row = measured(folder, PEER)
    if row["best_peer"] != "torch" or row["ratio"] < 1 or "1000.00 ms, 1 MiB" not in out:
        sys.exit(f"FAILED: a peer that takes a second: {out}")
    if "x: yes, least memory: no" not in out:
        sys.exit(f"FAILED: it is slower and smaller: {out}")
    out, row = measured(folder, PEER.replace("203530", "100"))
    if row["ratio"] is not None or "it trains 100 parameters, not 203530" not in out:
        sys.exit(f"FAILED: a peer with another model: {out}")
    out, row = measured(folder, "raise SystemExit('no torch here')\n")
    if row["ratio"] is not None or "mlp: torch is left out: no torch here" not in out:
        sys.exit(f"FAILED: a peer that is missing: {out}")
