"""_debian.py - interpreters of Debian's releases, unpacked under build/ without root."""
import glob
import os
import shutil
import subprocess

from _runner import ROOT

FOLDER = os.path.join(ROOT, "build", "python-versions")
MIRROR = os.environ.get("TAKT_DEBIAN", "http://deb.debian.org/debian")


def apt(suite, *words, **more):
    """apt-get with lists and archives of its own."""
    state = os.path.join(FOLDER, "apt-" + suite)
    for part in ("lists/partial", "archives/partial"):
        os.makedirs(os.path.join(state, part), exist_ok=True)
    with open(os.path.join(state, "sources.list"), "w", encoding="utf-8") as to:
        to.write(f"deb {MIRROR} {suite} main\n")
    open(os.path.join(state, "status"), "a", encoding="utf-8").close()
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    options = {"Dir::State::lists": f"{state}/lists", "Dir::State::status": f"{state}/status",
               "Dir::Cache": state, "Dir::Cache::archives": f"{state}/archives",
               "Dir::Etc::sourcelist": f"{state}/sources.list", "Dir::Etc::sourceparts": "-",
               "Dir::Etc::trusted": keys, "APT::Get::List-Cleanup": "false"}
    flags = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    return subprocess.run(["apt-get", "-qq", *flags, *words], check=False, capture_output=True,
                          text=True, **more)


def unpack(name, suite, packages):
    """The folder that packages were unpacked into; None, and why on stdout."""
    root = os.path.join(FOLDER, name)
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(os.path.join(root, "deb"))
    done = apt(suite, "update")
    if done.returncode == 0:
        done = apt(suite, "download", *packages, cwd=os.path.join(root, "deb"))
    if done.returncode != 0:
        print(f"{name}: {done.stderr.strip()[-600:]}")
        return None
    for package in glob.glob(os.path.join(root, "deb", "*.deb")):
        subprocess.run(["dpkg", "-x", package, root], check=True)
    return root
