"""cuda.py - the backend cuda on this machine: its digest is cpu's, or there is a reason.

Nothing but the driver decides which of the two is tested; CI has none.
"""
from _cli import MLP, expect, fails, finish, parsed

cuda = {row["name"]: row for row in parsed("backends", "--json")}["cuda"]
fails(2, "run", MLP, "-d", "cpu:1", says=["cpu has no devices"])
auto = parsed("run", MLP, "-D", "batch=8", "-d", "auto", "--json")
expect(auto["digest"] == parsed("run", MLP, "-D", "batch=8", "--json")["digest"],
       "auto computes something else")
if cuda["available"]:
    digests = [parsed("run", MLP, "-D", "batch=8", "-d", name, "--json").get("digest")
               for name in ("cpu", "cuda", "cuda:0")]
    expect(len(set(digests)) == 1, f"digests differ: {digests}")
    fails(1, "run", MLP, "-d", "cuda:99", says=["no device 99"])
else:
    expect(cuda["reason"] != "", "no reason is given")
    fails(1, "run", MLP, "-d", "cuda", says=[cuda["reason"]])
    for word in ("cuda", "gpu"):
        fails(4, "run", MLP, "--require", word, says=["cuda is required", cuda["reason"]])
finish()
