"""_data.py - data sets and batches of them."""
from __future__ import annotations

from collections import deque

from . import _arrays, _takt
from ._model import TensorInfo
from .errors import ArgumentError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator, Optional


class Dataset:
    """Samples of a file or folder: IDX, CIFAR, CSV, .npy, .npz, text, pictures, sounds.

    ``data[i]`` is one sample as a dictionary of arrays, ``take(rows)`` several at once.
    """

    def __init__(self, path: Any, *, split: Optional[str] = None, limit: int = 0,
                 scale: float = 0.0, mean: float = 0.0, deviation: float = 0.0, window: int = 0,
                 label: Optional[str] = None, missing: Optional[str] = None):
        self._raw = _takt.Data(path, split, limit, scale, mean, deviation, window, label, missing)
        self._fields = [TensorInfo(n, t, tuple(dims)) for n, t, dims in self._raw.fields()]

    @property
    def fields(self) -> list[TensorInfo]:
        """The fields of a sample: 'x', and 'labels' if there are any."""
        return list(self._fields)

    @property
    def classes(self) -> int:
        """How many classes the labels have; 0: they are not class numbers."""
        return int(self._raw.counts()[1])

    @property
    def class_names(self) -> Optional[list[str]]:
        """The names of the classes by number, if a table, list or folder names them."""
        names: list[str] = self._raw.names()
        return names or None

    def __len__(self) -> int:
        return int(self._raw.counts()[0])

    def take(self, rows: Any) -> dict[str, _takt.Array]:
        """The samples of these numbers, as one array per field."""
        places = rows if isinstance(rows, _takt.Array) and rows.dtype == "u64" else \
            _arrays.array([int(i) for i in rows], "u64")
        made: dict[str, _takt.Array] = self._raw.take(places)
        return made

    def __getitem__(self, index: int) -> dict[str, Any]:
        if isinstance(index, slice):
            raise TypeError("an index is a number: take(range(...)) gives several samples")
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(f"sample {index} of {len(self)}")
        return {name: array[0] for name, array in self.take([at]).items()}

    def describe(self) -> str:
        """Samples, types, classes, mean and deviation."""
        return str(self._raw.report())

    def __repr__(self) -> str:
        said = ", ".join(f"{f.name}: {f.dtype}{list(f.shape[1:])}" for f in self._fields)
        return f"<takt.Dataset of {len(self)}: {said}>"


class DataLoader:
    """Batches of a data set, in order or shuffled, read ahead by threads.

    `dataset` is a takt.Dataset, a dictionary or tuple of arrays with a common first size, or any
    object with ``__len__`` and ``__getitem__``. The order depends on seed and epoch only.
    """

    def __init__(self, dataset: Any, batch_size: int = 32, shuffle: bool = False,
                 num_workers: int = 0, prefetch_factor: int = 2, pin_memory: bool = False,
                 drop_last: bool = False, seed: int = 0,
                 collate_fn: Optional[Callable[[list[Any]], Any]] = None):
        if pin_memory and not _has_cuda():
            raise UnsupportedError("pin_memory: memory is page-locked for a GPU, and none is here")
        if batch_size < 1 or num_workers < 0 or prefetch_factor < 1:
            raise ArgumentError("batch_size and prefetch_factor are at least 1, num_workers 0")
        self.dataset, self.batch_size, self.shuffle = dataset, batch_size, shuffle
        self.num_workers, self.prefetch_factor = num_workers, prefetch_factor
        self.drop_last, self.seed, self.epoch = drop_last, seed, 0
        self._collate = collate_fn or collate
        self._count = _count_of(dataset)

    def __len__(self) -> int:
        whole, rest = divmod(self._count, self.batch_size)
        return whole + (1 if rest and not self.drop_last else 0)

    def _rows(self, epoch: int, batch: int) -> _takt.Array:
        first = batch * self.batch_size
        n = min(self.batch_size, self._count - first)
        if self.shuffle:
            return _takt.shuffle(self._count, self.seed, epoch, first, n)
        return _arrays.array(list(range(first, first + n)), "u64")

    def _batch(self, epoch: int, batch: int) -> Any:
        rows = self._rows(epoch, batch)
        data = self.dataset
        if isinstance(data, Dataset):
            return data.take(rows)
        if isinstance(data, dict):
            return {name: _picked(array, rows) for name, array in data.items()}
        if isinstance(data, tuple):
            return tuple(_picked(array, rows) for array in data)
        return self._collate([data[i] for i in rows.tolist()])

    def __iter__(self) -> Iterator[Any]:
        epoch = self.epoch
        self.epoch += 1
        if self.num_workers == 0:
            return (self._batch(epoch, i) for i in range(len(self)))
        return self._ahead(epoch)

    def _ahead(self, epoch: int) -> Iterator[Any]:
        """Batches in order; each has a queue of length one, which is cheaper than a Future."""
        from queue import Empty, SimpleQueue
        from sys import is_finalizing
        from threading import Thread
        jobs: Any = SimpleQueue()
        waiting: deque[Any] = deque()
        # A program may end in the middle of an epoch: it does not wait for the threads.
        threads = [Thread(target=self._work, args=(epoch, jobs), name=f"takt-loader-{i}",
                          daemon=True) for i in range(self.num_workers)]
        for thread in threads:
            thread.start()
        try:
            for i in range(len(self)):
                place: Any = SimpleQueue()
                waiting.append(place)
                jobs.put((i, place))
                if len(waiting) >= self.num_workers * self.prefetch_factor:
                    yield _got(waiting.popleft())
            while waiting:
                yield _got(waiting.popleft())
        finally:
            try:
                while True:  # batches that will not be requested are not started
                    jobs.get_nowait()
            except Empty:
                pass
            for _ in threads:
                jobs.put(None)
            for thread in threads:
                if not is_finalizing():  # the interpreter has stopped them, and would wait for ever
                    thread.join()

    def _work(self, epoch: int, jobs: Any) -> None:
        while (job := jobs.get()) is not None:
            i, place = job
            try:
                place.put((self._batch(epoch, i), None))
            except BaseException as e:
                place.put((None, e))


def _got(place: Any) -> Any:
    batch, error = place.get()
    if error is not None:
        raise error
    return batch


def _has_cuda() -> bool:
    from . import backends
    return any(b.get("name") == "cuda" and b.get("available") for b in backends())


def _count_of(dataset: Any) -> int:
    if isinstance(dataset, (dict, tuple)):
        arrays = list(dataset.values()) if isinstance(dataset, dict) else list(dataset)
        counts = {len(a) for a in arrays}
        if len(counts) != 1:
            raise ArgumentError(f"the arrays have {', '.join(map(str, sorted(counts)))} samples: "
                                "their first sizes differ" if arrays else "there are no arrays")
        return int(counts.pop())
    return len(dataset)


def _picked(array: Any, rows: _takt.Array) -> Any:
    if type(array).__module__ == "numpy":
        return array[_arrays.numpy(rows).astype("int64")]
    from . import ops
    return ops.gather(_arrays.asarray(array), _takt.view_as(rows, "i64"), axis=0)


def collate(items: list[Any]) -> Any:
    """Samples as one batch: numbers and arrays are stacked, tuples and dictionaries kept."""
    first = items[0]
    if isinstance(first, dict):
        return {key: collate([item[key] for item in items]) for key in first}
    if isinstance(first, (tuple, list)):
        return tuple(collate(list(parts)) for parts in zip(*items))
    if isinstance(first, (bool, int, float)):
        return _arrays.array(items)
    arrays = [_arrays.asarray(item) for item in items]
    if any((a.dtype, a.shape) != (arrays[0].dtype, arrays[0].shape) for a in arrays):
        raise ArgumentError("the samples of a batch have different shapes or types: "
                            "collate_fn= may pad them")
    whole = _takt.empty((len(arrays), *arrays[0].shape), arrays[0].dtype)
    if arrays[0].nbytes:
        to, size = memoryview(_flat(whole)), arrays[0].nbytes
        for i, array in enumerate(arrays):
            to[i * size:(i + 1) * size] = memoryview(_flat(array.copy()))
    return whole


def _flat(array: _takt.Array) -> Any:
    return memoryview(array).cast("B")
