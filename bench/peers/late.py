"""late.py - numpy, imported when it is first used: rows are listed on machines without it."""
import importlib


class _Late:
    def __init__(self, name):
        self._name = name

    def __getattr__(self, what):
        return getattr(importlib.import_module(self._name), what)


np = _Late("numpy")
