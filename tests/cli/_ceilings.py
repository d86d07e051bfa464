"""_ceilings.py - a folder in which the machine's ceilings are kept, so that no test measures them.

A busy machine does not store ceilings, so every command would measure them again, for two seconds
each. No test that uses this depends on the figures.
"""
import json
import os
import pathlib
import subprocess

LEVELS = {"L1": 100, "L2": 70, "L3": 50, "dram": 20}


def scaled(rates, scale):
    return {key: scaled(value, scale) if isinstance(value, dict) else
            value if key == "threads" else value * scale for key, value in rates.items()}


def reach(threads, scale=1):
    """The file's rate for a number of threads."""
    if scale != 1:
        return scaled(reach(threads), scale)
    peaks = {"f32_gflops": 80, "f64_gflops": 40, "int8_gops": 600, "f16_gflops": 160,
             "bf16_gflops": 320}
    return {"threads": threads, **{key: threads * value for key, value in peaks.items()},
            "bandwidth_gbs": {key: threads * value for key, value in LEVELS.items()},
            "copy_gbs": {key: threads * value for key, value in LEVELS.items()}}


def keep(tool, folder, scale=1):
    """Writes them for this machine; returns the environment in which commands find them."""
    environment = dict(os.environ, XDG_CACHE_HOME=str(folder))
    told = subprocess.run([tool, "benchmark", "system", "--specs", "--json"], check=True,
                          capture_output=True, text=True, env=environment).stdout
    machine = json.loads(told)
    sizes = [cache["bytes"] for cache in machine["caches"]][:3]
    file = pathlib.Path(folder) / "takt" / f"ceilings-{machine['fingerprint']}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    whole = file.with_suffix(f".{os.getpid()}")
    whole.write_text(json.dumps({
        "schema": "takt-ceilings/1", "fingerprint": machine["fingerprint"],
        "cache_bytes": sizes + [0] * (3 - len(sizes)) + [machine["memory_bytes"]],
        "one": reach(1, scale), "all": reach(machine["cores_physical"], scale)}))
    whole.replace(file)
    return environment
