"""_ort_values.py - values and bindings as onnxruntime has them."""
from __future__ import annotations

from . import _arrays, _takt
from .errors import ArgumentError, NotFoundError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing would take longer than the rest of the package
    from typing import Any, Optional, Sequence

    from ._ort import InferenceSession

ORT_TYPES = {"f64": "double", "f32": "float", "f16": "float16", "bf16": "bfloat16",
              "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u64": "uint64",
              "u32": "uint32", "u16": "uint16", "u8": "uint8", "bool": "bool", "i4": "int4",
              "u4": "uint4", "f8e4m3fn": "float8e4m3fn", "f8e4m3fnuz": "float8e4m3fnuz",
              "f8e5m2": "float8e5m2", "f8e5m2fnuz": "float8e5m2fnuz"}


class OrtValue:
    """An array with the names that onnxruntime gives to its parts."""

    def __init__(self, array: Any):
        self._array = array

    @staticmethod
    def ortvalue_from_numpy(array: Any, device_type: str = "cpu", device_id: int = 0) -> "OrtValue":
        """A value of the array's own memory."""
        _check_device(device_type, device_id)
        return OrtValue(_takt.wrap(array))

    @staticmethod
    def ortvalue_from_shape_and_type(shape: Sequence[int], element_type: Any,
                                     device_type: str = "cpu", device_id: int = 0) -> "OrtValue":
        """A value of zeros."""
        _check_device(device_type, device_id)
        return OrtValue(_takt.empty(tuple(shape), element_type))

    def numpy(self) -> Any:
        """A NumPy array of the same memory."""
        return _arrays.numpy(self._array)

    def shape(self) -> list[int]:
        """The dimensions."""
        return list(_takt.wrap(self._array).shape)

    def data_type(self) -> str:
        """'tensor(float)'."""
        dtype = _takt.wrap(self._array).dtype
        return f"tensor({ORT_TYPES.get(dtype, dtype)})"

    def element_type(self) -> int:
        """ONNX's number of the element type."""
        numbers = {"f32": 1, "u8": 2, "i8": 3, "u16": 4, "i16": 5, "i32": 6, "i64": 7, "bool": 9,
                   "f16": 10, "f64": 11, "u32": 12, "u64": 13, "bf16": 16}
        return numbers.get(_takt.wrap(self._array).dtype, 0)

    def device_name(self) -> str:
        """'cpu'."""
        return "cpu"

    def data_ptr(self) -> int:
        """The address of the first element."""
        return _takt.wrap(self._array).ptr

    def is_tensor(self) -> bool:
        """True: there are no other values."""
        return True

    def has_value(self) -> bool:
        """True."""
        return True

    def update_inplace(self, array: Any) -> None:
        """Copies the array's elements into the value's own memory."""
        target, source = _takt.wrap(self._array), _takt.wrap(array)
        if target.shape != source.shape or target.dtype != source.dtype:
            raise ArgumentError(f"the value is {target.dtype}{list(target.shape)}, "
                                f"the array {source.dtype}{list(source.shape)}")
        memoryview(target).cast("B")[:] = memoryview(source.copy()).cast("B")

    def __dlpack__(self, **kwargs: Any) -> Any:
        return _takt.wrap(self._array).__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.numpy()


def _check_device(device_type: str, device_id: int = 0) -> None:
    if str(device_type).lower() not in ("cpu", "cuda_pinned") or device_id not in (0, None):
        raise UnsupportedError(f"values are on the host, not on {device_type}:{device_id}")


class IOBinding:
    """Arrays for inputs and outputs, bound once and used by every run_with_iobinding."""

    def __init__(self, session: "InferenceSession"):
        self._session = session
        self._feed: dict[str, Any] = {}
        self._fetch: dict[str, Any] = {}
        self._results: dict[str, Any] = {}

    def bind_cpu_input(self, name: str, array: Any) -> None:
        """An input from an array on the host, used in place."""
        self._check(name, self._session._input_names)
        self._feed[name] = array

    def bind_input(self, name: str, device_type: str, device_id: int, element_type: Any,
                   shape: Sequence[int], buffer_ptr: int) -> None:
        """An input by its address: the memory must stay valid until it is bound again."""
        _check_device(device_type, device_id)
        self._check(name, self._session._input_names)
        self._feed[name] = _pointer(element_type, shape, buffer_ptr)

    def bind_ortvalue_input(self, name: str, value: OrtValue) -> None:
        """An input from a value."""
        self._check(name, self._session._input_names)
        self._feed[name] = value._array

    def bind_output(self, name: str, device_type: str = "cpu", device_id: int = 0,
                    element_type: Any = None, shape: Optional[Sequence[int]] = None,
                    buffer_ptr: Optional[int] = None) -> None:
        """An output: at an address, or in a new array of every run."""
        _check_device(device_type, device_id)
        self._check(name, self._session._output_names)
        self._fetch[name] = (_pointer(element_type, shape or (), buffer_ptr)
                             if buffer_ptr is not None else None)

    def bind_ortvalue_output(self, name: str, value: OrtValue) -> None:
        """An output into a value's memory."""
        self._check(name, self._session._output_names)
        self._fetch[name] = value._array

    def synchronize_inputs(self) -> None:
        """Does nothing: the host never has to wait."""

    def synchronize_outputs(self) -> None:
        """Does nothing: the host never has to wait."""

    def get_outputs(self) -> list[OrtValue]:
        """The bound outputs of the last run."""
        return [OrtValue(self._results[name]) for name in self._fetch if name in self._results]

    def copy_outputs_to_cpu(self) -> list[Any]:
        """The same as NumPy arrays, if NumPy has been imported."""
        return [_numpy_or_array(self._results[name]) for name in self._fetch
                if name in self._results]

    def clear_binding_inputs(self) -> None:
        """Forgets the inputs."""
        self._feed.clear()

    def clear_binding_outputs(self) -> None:
        """Forgets the outputs."""
        self._fetch.clear()
        self._results.clear()

    @staticmethod
    def _check(name: str, names: Sequence[str]) -> None:
        if name not in names:
            import difflib
            near = difflib.get_close_matches(name, names, 1)
            raise NotFoundError(f"the model has no {name}" +
                                (f": did you mean {near[0]}?" if near else ""))


def _pointer(element_type: Any, shape: Sequence[int], pointer: int) -> _takt.Array:
    """An Array at an address, by way of the array interface."""
    import ctypes
    like = _takt.empty((0,), element_type)
    if like.dtype not in _arrays._CODES:
        raise UnsupportedError(f"an address of {like.dtype} elements cannot be bound")
    count = 1
    for size in shape:
        count *= size
    width = _takt.empty((1,), element_type).nbytes
    block = (ctypes.c_char * (count * width)).from_address(pointer)
    code: Any = _arrays._CODES[like.dtype]
    return _takt.wrap(memoryview(block).cast("B").cast(code, tuple(shape) or (1,)))


def _numpy_or_array(value: Any) -> Any:
    return _arrays.numpy(value) if _arrays.has_numpy() else value
