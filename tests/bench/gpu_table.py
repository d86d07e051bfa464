"""gpu_table.py - the table of the GPU's rows reads what the programs print, and names misses."""
import os
import subprocess
import sys
import tempfile

KERNELS = (
    "NVIDIA H200, 132 multiprocessors, driver 13000\n"
    "graph of  1 nodes and a flag, launch to flag     6.42 us\n"
    "graph of 50 nodes and a flag, launch to flag    37.78 us\n"
    "product 1024x1024x1024       gemm_f32_128               59.96 us   35.82 TFLOP/s   "
    "209.9 GB/s  caller     65.30 us  0 differ\n"
    "layer_norm 32x768            rows_f32_block              2.09 us    0.00 TFLOP/s    "
    "94.1 GB/s  caller      7.81 us  0 differ\n"
    "all bits equal\n")
MODELS = ("mlp_b1             device      15.6 us (3 nodes, 0 host steps)  run      35.8 us  "
          "cpu       9.5 us  plan and session      5 ms  0 differ\n")
PEERS = ("torch 2.11.0, NVIDIA H200\n"
         "product 1024x1024x1024  torch eager = 80.00 us  graph = 65.30 us  "
         "graph, device = 58.00 us  graph, TF32 = 23.00 us\n"
         "product 1024x1024x1024  JAX = 70.00 us\n"
         "mlp_b1: torch.compile: it failed\n")

with tempfile.TemporaryDirectory() as folder:
    for name, text in (("kernels", KERNELS), ("models", MODELS), ("peers", PEERS)):
        with open(os.path.join(folder, name + ".txt"), "w", encoding="utf-8") as f:
            f.write(text)
    command = [sys.executable, os.path.join("bench", "gpu", "table.py"), folder]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
rows = {line.split("|")[1].strip(): [c.strip() for c in line.split("|")[2:-1]]
        for line in answer.stdout.splitlines() if line.startswith("|")}
expected = {
    "one node, launch to flag": ["", "6.42", "8.50", "yes", "", "", "", "", "", ""],
    "each further node": ["", "0.64", "0.75", "yes", "", "", "", "", "", ""],
    # neither TF32 nor the device's time without a launch is the peer that counts
    "product 1024 x 1024 x 1024": ["60.0", "65.3", "52.0", "no", "80.0", "65.3", "58.0", "23.0",
                                   "70.0", "1.00"],
    "MLP, batch 1": ["", "15.6", "11.0", "no", "", "", "", "", "", ""],
    "layer_norm 32 x 768": ["2.09", "7.81", "9.00", "yes", "", "", "", "", "", ""],
    "ResNet-50, batch 1": ["", "", "500.0", "", "", "", "", "", "", ""],
}
wrong = [f"{k}: {rows.get(k)} instead of {v}" for k, v in expected.items() if rows.get(k) != v]
if answer.returncode != 1 or "3 bars met, 2 missed" not in answer.stdout:
    wrong.append(f"exit {answer.returncode}: {answer.stdout[-200:]}{answer.stderr}")
print("\n".join(wrong))
sys.exit(len(wrong) > 0)
