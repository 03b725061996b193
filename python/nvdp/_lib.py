"""The shared library: declarations, contexts, errors, numbers and arrays.

The declarations (``nvdp.cdef``) are the public headers, preprocessed when the library was built; this module repeats none
of them.
"""

from __future__ import annotations

import ctypes
import decimal
import inspect
import json
import keyword
import logging
import math
import os
import queue
import re
import signal
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

import numpy as np
from cffi import FFI


def _open() -> tuple[FFI, Any]:
    """Opens the library. ``NVDP_LIBRARY`` names another libnvdp.so, with its nvdp.cdef in the same directory."""
    # An editable installation has two folders: the sources, and the library.
    found = [path for folder in sys.modules[__package__].__path__ if (path := Path(folder) / "libnvdp.so").is_file()]
    path = Path(os.environ.get("NVDP_LIBRARY") or (found[0] if found else Path(__file__).with_name("libnvdp.so")))
    if not path.is_file():
        raise ImportError(f"{path}: no such library; install the package, or set NVDP_LIBRARY to a libnvdp.so")
    ffi = FFI()
    declarations = re.sub(r"^#.*", "", (path.parent / "nvdp.cdef").read_text("utf-8"), flags=re.MULTILINE)
    ffi.cdef(declarations + "void free(void *);")
    return ffi, ffi.dlopen(str(path))


ffi, lib = _open()
log = logging.getLogger("nvdp")


class NvdpError(Exception):
    """An error of the library: its message, and ``status``, such as ``"ERR_IO"``."""

    def __init__(self, message: str, status: str = "ERR_ARGUMENT"):
        super().__init__(message)
        self.status = status


class NvdpValueError(NvdpError, ValueError):
    """An argument out of its range, or an invalid input."""


def as_python(message: str) -> str:
    """Names options as arguments, and the command that continues a run as the function. The library's messages name options without
    dashes already; its help texts, and commands in messages, are the program's."""
    message = re.sub(r"nvdp (?:train|pretrain) --resume (.+)$", lambda found: f"nvdp.resume({found[1]!r})", message, flags=re.MULTILINE)
    return re.sub(r"(?<![\w-])--([a-z][a-z0-9-]*)", lambda found: found[1].replace("-", "_"), message)


def error(status: int, message: str) -> NvdpError:
    name = text(lib.nvdp_status_name(status))
    kind = NvdpValueError if name in ("ERR_ARGUMENT", "ERR_INPUT") else NvdpError
    message = as_python(message)
    return kind(message or text(lib.nvdp_status_text(status)), name)


def check_ended(run: Path) -> None:
    """Raises for a run that was stopped or killed, or is still training. Training writes result.json last."""
    if (run / "run.json").is_file() and not (run / "result.json").is_file():
        raise NvdpError(f"{run}: expected a finished run; nvdp.resume({str(run)!r}) finishes it", "ERR_STATE")


class Result(dict[str, Any]):
    """The base of the classes in results.py: a dict whose items are also attributes. Type checkers know the attributes of the classes."""

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            try:
                return self[name]
            except KeyError:
                raise AttributeError(name) from None

    def __repr__(self) -> str:
        """The class of a result and its items; a dict without a class."""
        if type(self) is Result:
            return super().__repr__()
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self.items())})"

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, dict):
            return NotImplemented
        return self.keys() == other.keys() and all(
            value is other[name] or (np.array_equal(value, other[name], True) if isinstance(value, np.ndarray) else value == other[name])
            for name, value in self.items())  # fmt: skip

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __dir__(self) -> list[str]:
        return sorted([*self, "to_json"])

    def to_json(self) -> str:
        """Returns the result as JSON, in which an array is a list."""
        return json.dumps(self, default=lambda value: value.tolist())


KINDS: dict[str, type[Result]] = {}
"""The class of each struct's record; results.py fills it."""

# --- objects of the library ---


class _Life:
    """An object of the library, with a reference count. It is freed when neither Python nor another library object uses it.

    Python's own reference counts do not suffice: when Python collects a cycle, the order of destructors is undefined.
    """

    by_address: dict[int, _Life] = {}
    lock = threading.RLock()

    def __init__(self, pointer: Any, free: Callable[[Any], object], parents: Iterable[_Life] = ()):
        self.pointer, self.free, self.users, self.parents = pointer, free, 1, list(parents)
        self.key = self.address(pointer)  # at exit, cffi may be gone before the last object
        with self.lock:
            for parent in self.parents:
                parent.users += 1
            self.by_address[self.key] = self

    @staticmethod
    def address(pointer: Any) -> int:
        return int(ffi.cast("uintptr_t", pointer))

    @classmethod
    def among(cls, arguments: Iterable[Any]) -> list[_Life]:
        pointers = [item for item in arguments if isinstance(item, ffi.CData) and ffi.typeof(item).kind == "pointer"]
        return [cls.by_address[key] for key in map(cls.address, pointers) if key in cls.by_address]

    def drop(self, _pointer: Any = None) -> None:
        with self.lock:
            self.users -= 1
            if self.users > 0:
                return
            del self.by_address[self.key]
            self.free(self.pointer)
            for parent in self.parents:
                parent.drop()

    def handle(self) -> Any:
        """Returns the pointer as an object that owns a reference."""
        return ffi.gc(self.pointer, self.drop)


# --- contexts ---

_NO_FILE = re.compile(r"(?:/[^\s/]+)*/nvdp-[a-z0-9_]{8}/(?:run/(ledger)|\w+\.h5)(?![\w./-])")
"""Matches the files of encode(), of release() without `out`, and of an encoder without `out`, as the ledger names them."""
_LEVELS = (logging.DEBUG, logging.INFO, logging.INFO, logging.WARNING)
_contexts: weakref.WeakSet[Context] = weakref.WeakSet()


# Threads that make the calls, each of them idle: as many as calls have run at the same time.
_idle: list[ThreadPoolExecutor] = []


def _block_signals() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


class Context:
    """A context, whose calls are made in a thread of their own.

    That thread blocks signals: oneDNN moves its stack register into the heap inside some products, where a handler's frame
    would destroy memory.  The caller waits in Python, so that Ctrl-C arrives there, asks the work to stop and
    is raised when it has stopped.  All contexts share these threads.
    """

    def __init__(self, progress: Callable[[Any], object] | None = None):
        out = ffi.new("struct nvdp_context **")
        status = lib.nvdp_context_create(out)
        if status != 0:
            raise error(status, "")
        self.pointer = _Life(out[0], lib.nvdp_context_free).handle()
        self.progress = progress
        self.names: dict[str, str] = {}  # what messages say in place of temporary files
        self._stop = False
        self._events: queue.SimpleQueue[Result | None] = queue.SimpleQueue()
        me = weakref.ref(self)  # the library's callbacks must not keep it alive

        @ffi.callback("void(enum nvdp_log_level, const char *, void *)")
        def tell(level: int, message: Any, _user: Any) -> None:
            context = me()
            said = text(message) if context is None else context._named(text(message))
            log.log(_LEVELS[min(level, 3)], "%s", as_python(said))

        @ffi.callback("void(const struct nvdp_progress *, void *)")
        def report(progress: Any, _user: Any) -> None:
            context = me()
            if context is not None and context.progress is not None:
                context._events.put(record(progress[0]))  # struct nvdp_progress

        @ffi.callback("_Bool(void *)", error=True)
        def stopped(_user: Any) -> bool:
            context = me()
            return context is None or context._stop

        self._callbacks = tell, report, stopped
        lib.nvdp_context_set_log(self.pointer, tell, ffi.NULL)
        lib.nvdp_context_set_progress(self.pointer, report, ffi.NULL)
        lib.nvdp_context_set_cancel(self.pointer, stopped, ffi.NULL)
        self._lock = threading.Lock()
        _contexts.add(self)

    def _named(self, message: str) -> str:
        for path, name in self.names.items():
            message = message.replace(path, name)
        return _NO_FILE.sub(lambda found: f"{found[1]} of this encoder" if found[1] else "a call that kept no file", message)

    def _run(self, function: Callable[..., int], arguments: Sequence[Any]) -> None:
        status = function(*arguments)
        if status != 0:
            raise error(status, self._named(text(lib.nvdp_context_error(self.pointer))))

    def call(self, function: Callable[..., int], *arguments: Any) -> None:
        """Calls function(context, *arguments); raises an error if it fails."""
        self._call(function, self.pointer, *arguments)

    def quick(self, function: Callable[..., int], *arguments: Any) -> None:
        """Calls function(*arguments) in this thread: for work of microseconds, which nothing needs to stop."""
        with self._lock:
            self._run(function, arguments)

    def _call(self, function: Callable[..., int], *arguments: Any) -> None:
        """Calls function(*arguments), which records its failure in this context, and raises that failure.

        The context has one message: it is read before the next call starts.
        """
        with self._lock:
            self._stop = False
            events = self._events = queue.SimpleQueue()
            try:
                thread = _idle.pop()
            except IndexError:
                thread = ThreadPoolExecutor(1, "nvdp", _block_signals)
            future: Future[None] = thread.submit(self._run, function, arguments)
            future.add_done_callback(lambda _: events.put(None))
            interrupt: BaseException | None = None
            while True:
                try:
                    event = events.get(timeout=0.2)  # a signal that another thread takes does not end it
                    if event is None:
                        break
                    if self.progress is not None and interrupt is None:
                        self.progress(event)
                except queue.Empty:
                    if future.done():  # and its event was lost, as an interrupt came with it
                        break
                except BaseException as reason:  # Ctrl-C, or the caller's own callback
                    self._stop, interrupt = True, interrupt or reason
            _idle.append(thread)
            if interrupt is not None:
                failure = future.exception()
                if failure is not None and len(interrupt.args) == 0:
                    interrupt.args = (str(failure),)
                raise interrupt
            future.result()

    def make(self, kind: str, free: Callable[[Any], object], function: Callable[..., int], *arguments: Any, quick: bool = False) -> Any:
        """Returns the object that function(context, *arguments, out) creates. It is freed before the context and the arguments."""
        out = ffi.new(f"{kind} **")
        (self.quick if quick else self._call)(function, self.pointer, *arguments, out)
        return self._own(free, out, arguments)

    def _own(self, free: Callable[[Any], object], out: Any, arguments: Sequence[Any] = ()) -> Any:
        return _Life(out[0], free, _Life.among((self.pointer, *arguments))).handle()

    def result(self, kind: str, function: Callable[..., int], *arguments: Any) -> Any:
        """Returns the result that function(context, *arguments, out) fills."""
        out = result_of(kind)
        self.call(function, *arguments, out)
        return record(out[0])

    def lines(self, function: Callable[..., int], *arguments: Any) -> bytes:
        """Returns what function(context, *arguments, write, user) writes."""
        found = bytearray()

        @ffi.callback("_Bool(const char *, size_t, void *)")
        def write(text: Any, size: int, _user: Any) -> bool:
            found.extend(ffi.buffer(text, size))
            return True

        self.call(function, *arguments, write, ffi.NULL)
        return bytes(found)

    def json(self, result: Any, view: Any = ffi.NULL) -> Any:
        """Returns a result of the library as its JSON object."""
        out = ffi.new("char **")
        self.call(lib.nvdp_result_json, result, view, out)
        return from_json(owned_text(out[0]))

    def config(self, kinds: str, options: Mapping[str, Any]) -> Any:
        """Creates a configuration for kinds of work, joined by commas, and sets options by name; None keeps the default."""
        out = ffi.new("struct nvdp_config **")
        self.quick(lib.nvdp_config_create, self.pointer, c_text(kinds, "kind"), out)
        config = self._own(lib.nvdp_config_free, out)
        self._set(config, options)
        return config

    def _set(self, config: Any, options: Mapping[str, Any]) -> None:
        for name, value in options.items():
            if value is not None:
                plain = name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name  # lambda_
                try:
                    self.quick(lib.nvdp_config_set, config, c_text(plain, "option"), c_text(as_text(value), name))
                except NvdpError as reason:
                    raise type(reason)(str(reason).replace(f"option {plain}:", f"option {name}:"), reason.status) from None

    def set_threads(self, threads: int | None) -> None:
        if threads is not None:
            self.call(lib.nvdp_context_set_threads, threads)


@contextmanager
def scratch(context: Context, files: Mapping[str, str], paths: Mapping[str, str] = {}) -> Iterator[Path]:
    """Yields a temporary folder that only its owner can read. Messages of the context name its files, and other paths, as given."""
    with tempfile.TemporaryDirectory(prefix="nvdp-") as folder:
        before = context.names
        context.names = {**before, **paths, **{os.path.join(folder, file): name for file, name in files.items()}, folder: "a temporary folder"}
        try:
            yield Path(folder)
        finally:
            context.names = before


def _after_fork() -> None:
    """Threads do not survive fork()."""
    _Life.lock = threading.RLock()
    _idle.clear()
    for context in _contexts:
        context._lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
_shared: Context | None = None


def shared() -> Context:
    """Returns the context of functions that do not belong to an object."""
    global _shared
    if _shared is None:
        _shared = Context()
    return _shared


# --- values ---


def text(pointer: Any) -> str:
    return "" if pointer == ffi.NULL else ffi.string(pointer).decode("utf-8", "replace")


def owned_text(pointer: Any) -> str:
    """Converts and frees a text that the caller owns."""
    try:
        return text(pointer)
    finally:
        lib.free(pointer)


def c_text(value: str, name: str) -> bytes:
    """Returns a text for the library, in which NUL would end it. Paths may have bytes that are not UTF-8."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected str, found {type(value).__name__}")
    if "\0" in value:
        raise NvdpValueError(f"{name}: expected a text without NUL, found {value!r}")
    return value.encode("utf-8", "surrogateescape" if re.search("[\udc80-\udcff]", value) else "surrogatepass")


def absolute(path: str | PathLike[str], name: str = "path") -> str:
    """Returns a path that does not depend on the working directory."""
    if not isinstance(path, (str, bytes, PathLike)):
        raise TypeError(f"{name}: expected str or PathLike, found {type(path).__name__}")
    return os.path.abspath(os.fsdecode(path))


def rebuild(kind: Callable[..., Any], arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    """Makes an object again from what pickle keeps of it."""
    return kind(*arguments, **options)


def check_callback(function: Any) -> None:
    """Refuses a progress argument that is not a function of one record."""
    if function is None or isinstance(function, bool):
        return
    if not callable(function):
        raise TypeError(f"progress: expected True, None or a function of one record, found {type(function).__name__}")
    try:
        inspect.signature(function).bind(Result())
    except TypeError as reason:
        raise TypeError(f"progress: expected a function of one record: {reason}") from None
    except ValueError:  # a built-in without a signature
        pass


def as_text(value: Any) -> str:
    """Formats an option's value as on the command line."""
    if isinstance(value, (bytes, PathLike)):
        return os.fsdecode(value)
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (list, tuple)):
        return ",".join(as_text(item).replace(",", "\\,") for item in value)
    return str(value)


def result_of(kind: str) -> Any:
    """Returns a zeroed struct with its struct_size, as NVDP_RESULT() does."""
    out = ffi.new(f"{kind} *")
    if any(name == "struct_size" for name, _ in ffi.typeof(kind).fields):
        out.struct_size = ffi.sizeof(kind)
    return out


def freed(kind: str) -> Any:
    """Returns result_of(kind), whose parts the library frees when it is collected."""
    return ffi.gc(result_of(kind), lib.nvdp_result_free)


def _enum_name(kind: Any, value: int) -> str:
    """Returns the name of an enumerator without its prefix: "hidden" for NVDP_LENGTH_HIDDEN."""
    names = list(kind.elements.values())
    prefix = os.path.commonprefix(names)
    return kind.elements[value][prefix.rfind("_") + 1 :].lower().replace("_", "-")


def _member(kind: Any, value: Any) -> Any:
    if kind.kind == "struct":
        return record(value)
    if kind.kind == "enum":
        return _enum_name(kind, int(ffi.cast("int", value)))
    if kind.kind == "array" and kind.item.cname == "char":
        return text(ffi.cast("char *", value))
    if kind.kind == "array" and kind.item.kind == "primitive":
        return np.array(list(value))
    if kind.kind == "array":
        return [_member(kind.item, item) for item in value]
    if kind.kind == "pointer" and value == ffi.NULL:
        return None
    if kind.kind == "pointer":
        return record(value[0]) if kind.item.kind == "struct" else text(value)
    return value


# Results whose record is their JSON object, not a copy of the struct.
AS_JSON = {f"struct nvdp_{name}" for name in ("certificate", "dchi_report", "linkage", "privacy_report")}


def is_nested(kind: Any) -> bool:
    """Returns whether a pointer leads to a text, or to a result that becomes part of the record."""
    item = kind.item
    return item.cname in ("char", "const char") or (
        item.kind == "struct" and "struct_size" in dict(item.fields or ()) and item.cname not in AS_JSON
    )


def record(struct: Any) -> Any:
    """Converts a struct to a record: of its class in results.py, if it has one. Skips pointers, except to texts and results, and unused
    entries of lists: an empty guess would be a bound of 0."""
    kind = ffi.typeof(struct)
    found = KINDS.get(kind.cname, Result)()
    for name, field in kind.fields:
        if name not in ("struct_size", "reserved") and (field.type.kind != "pointer" or is_nested(field.type)):
            found[name] = _member(field.type, getattr(struct, name))
    for name, count in ("guess", "guesses"), ("phrase_guess", "guesses"), ("check", "checks"):
        if name in found and count in found:
            found[name] = found[name][: found[count]]
    return found


def upper(value: float) -> str:
    """Formats an upper bound with at most 4 significant digits, rounded up."""
    return f"{float(decimal.Context(prec=4, rounding=decimal.ROUND_CEILING).create_decimal(value)):g}"


def from_json(source: str) -> Any:
    """Parses a JSON object of the library, in which "inf" is a number; items are also attributes."""
    numbers = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}

    def read(pairs: Iterable[tuple[str, Any]]) -> Result:
        return Result((key, numbers.get(value, value) if isinstance(value, str) else value) for key, value in pairs)

    return json.loads(source, object_pairs_hook=read)


def typed(kind: type[Any], found: Mapping[str, Any]) -> Any:
    """Returns a JSON object of the library as its class in results.py, so its parts, and lists of numbers as arrays."""
    made = kind(found)
    for key, value in found.items():
        of = kind.__annotations__.get(key, "")
        inner = getattr(sys.modules[kind.__module__], re.findall(r"\w+", of)[-1] if of else "", None)
        if isinstance(value, list) and "NDArray" in of:
            made[key] = np.array(value, np.int64 if "int64" in of and None not in value else np.float64)
        elif not (isinstance(inner, type) and issubclass(inner, Result)) or inner is Result:
            continue
        elif isinstance(value, Mapping):
            made[key] = Result((name, typed(inner, one)) for name, one in value.items()) if of.startswith("dict") else typed(inner, value)
        elif isinstance(value, list):
            made[key] = [typed(inner, one) if isinstance(one, Mapping) else one for one in value]
    return made


# --- arrays ---


def array(values: Any, kind: type = np.float64, dimensions: int | None = None, name: str = "array") -> np.ndarray:
    """Returns a C-contiguous array of the given type. Does not copy an array that is one already; accepts torch tensors and other
    objects that support DLPack."""
    if not isinstance(values, np.ndarray) and hasattr(values, "__dlpack__"):
        values = _from_dlpack(values.detach() if hasattr(values, "detach") else values, name)
    out: np.ndarray = np.ascontiguousarray(values, kind)
    if np.ndim(values) == 0:
        out = out.reshape(())
    if dimensions is not None and out.ndim != dimensions:
        raise NvdpValueError(f"{name}: expected {dimensions} dimensions, found shape {out.shape}")
    return out


class _Tensor(ctypes.Structure):
    """DLTensor of dlpack.h."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]  # fmt: skip


_CPU, _BFLOAT = (1, 3), (4, 16)  # kDLCPU and kDLCUDAHost; kDLBfloat of 16 bits


def _from_dlpack(values: Any, name: str) -> np.ndarray:
    """Returns the array of an object that supports DLPack, without a copy; numbers of type bfloat16, which numpy has not, as float32."""
    try:
        return np.from_dlpack(values)
    except (BufferError, RuntimeError, TypeError) as reason:
        capsule = values.__dlpack__()
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        tensor = ctypes.cast(get(capsule, b"dltensor"), ctypes.POINTER(_Tensor)).contents
        if (tensor.code, tensor.bits) != _BFLOAT or tensor.lanes != 1 or tensor.device_type not in _CPU:
            raise NvdpValueError(f"{name}: expected numbers in main memory that numpy can read, found {values!r:.60}: {reason}") from None
        shape = tensor.shape[: tensor.ndim]
        if math.prod(shape) == 0:
            return np.zeros(shape, np.float32)
        if tensor.strides:
            steps = tensor.strides[: tensor.ndim]
        else:
            steps = [math.prod(shape[i + 1 :]) for i in range(tensor.ndim)]
        count = 1 + sum((n - 1) * step for n, step in zip(shape, steps))
        memory = (ctypes.c_uint16 * count).from_address(tensor.data + tensor.byte_offset)
        halves = np.lib.stride_tricks.as_strided(np.frombuffer(memory, np.uint16), shape, [2 * step for step in steps])
        return (halves.astype(np.uint32) << 16).view(np.float32)  # a copy, so the capsule may go


def converted(values: np.ndarray, tensor: bool, dtype: Any) -> Any:
    """Returns an array with another type of numbers, or as a torch tensor. A type is a name, or numpy's or torch's own."""
    name = str(getattr(dtype, "name", dtype)).rpartition(".")[2]
    if dtype is not None and name not in ("float16", "float32", "float64", "bfloat16"):
        raise NvdpValueError(f"dtype: expected float16, float32, float64 or bfloat16, found {dtype!r}")
    if tensor:
        import torch

        found = torch.from_numpy(np.ascontiguousarray(values))
        return found if dtype is None else found.to(getattr(torch, name))
    if name == "bfloat16":
        raise NvdpValueError("dtype: numpy has no bfloat16; use convert_to_tensor=True")
    return values if dtype is None else values.astype(name, copy=False)


PRECISIONS = ("float32", "int8", "uint8", "binary", "ubinary")


def quantized(vectors: np.ndarray, precision: str) -> np.ndarray:
    """Returns [N, p] vectors in fewer bits, as sentence-transformers: one byte per number, between the smallest and the largest of a column
    of these vectors, or one bit per number, its sign, eight in a byte."""
    if precision in ("binary", "ubinary"):
        bits = np.packbits(vectors > 0, axis=1)
        return bits if precision == "ubinary" else (bits.astype(np.int16) - 128).astype(np.int8)
    low, high = vectors.min(axis=0, initial=np.inf), vectors.max(axis=0, initial=-np.inf)
    step = np.where(high > low, (high - low) / 255, 1)
    levels = (vectors - low) / step
    return levels.astype(np.uint8) if precision == "uint8" else (levels - 128).astype(np.int8)


def as_asked(vectors: np.ndarray, one: bool, normalize: bool, arrays: bool, tensor: bool, dtype: Any, truncate_dim: int | None = None,
             precision: str = "float32") -> Any:  # fmt: skip
    """Returns [N, p] vectors in the form for which sentence-transformers' arguments of encode() ask; `one`: of a single text."""
    if truncate_dim is not None and (isinstance(truncate_dim, bool) or not isinstance(truncate_dim, (int, np.integer)) or truncate_dim < 1):
        raise NvdpValueError(f"truncate_dim: expected a number of columns of at least 1, or None, found {truncate_dim!r}")
    if precision not in PRECISIONS or (precision != "float32" and dtype is not None):
        raise NvdpValueError(f"precision: expected {', '.join(PRECISIONS)}, and no dtype but with float32, found {precision!r} and {dtype!r}")
    vectors = vectors[:, :truncate_dim]
    if normalize:
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    if precision != "float32":
        vectors = quantized(vectors, precision)
    if not (arrays or tensor or one):
        return [converted(row, True, dtype) for row in vectors]
    return converted(vectors[0] if one and len(vectors) else vectors, tensor, dtype)


def pointer(values: np.ndarray | None, kind: str = "double", writable: bool = False) -> Any:
    """Returns a pointer to the first element of an array. The caller keeps the array alive."""
    if values is None or values.size == 0:
        return ffi.new(f"{kind}[1]") if values is not None else ffi.NULL
    return ffi.from_buffer(f"{kind}[]", values, require_writable=writable)


def view(pointer: Any, shape: tuple[int, ...], kind: type, owner: Any) -> Any:
    """Returns memory of the library as a read-only array that keeps its owner alive; None for NULL."""
    if pointer == ffi.NULL:
        return None
    count = math.prod(shape)
    if count == 0:
        return np.zeros(shape, kind)
    memory = ffi.gc(ffi.cast("char *", pointer), lambda _, _owner=owner: None)
    out: Any = np.frombuffer(ffi.buffer(memory, count * np.dtype(kind).itemsize), kind, count).reshape(shape)
    out.flags.writeable = False
    return out


# --- texts ---


def items(values: Any, name: str, of: str) -> list[Any]:
    """Returns the items of a list, a column or another iterable. A str would be read letter by letter, a table by its columns'
    names, and a set in any order: they are refused."""
    kind = type(values).__name__
    if isinstance(values, (str, bytes, bytearray)):
        raise TypeError(f"{name}: expected a list of {of}, found one {kind}; a list of one is [{name[:-1]}]")
    if isinstance(values, Mapping) or hasattr(values, "columns") or hasattr(values, "column_names"):
        raise TypeError(f"{name}: expected a list of {of}, found a table ({kind}); give one of its columns")
    if isinstance(values, (set, frozenset)):
        raise TypeError(f"{name}: expected a list of {of}, found {kind}, which has no order")
    try:
        return values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    except TypeError:
        raise TypeError(f"{name}: expected a list of {of}, found {kind}") from None


def text_list(texts: Any, name: str = "texts", some: bool = False) -> list[str]:
    """Returns a list of texts that are valid UTF-8; with `some`, at least one."""
    found = items(texts, name, "str")
    for i, item in enumerate(found):
        if not isinstance(item, str):
            raise TypeError(f"{name}[{i}]: expected str, found {type(item).__name__}")
    if some and not found:
        raise NvdpValueError(f"{name}: expected at least one text, found none")
    return [item.encode("utf-8", "surrogatepass").decode("utf-8", "replace") for item in found]


def stream(values: Any, name: str, of: str) -> Iterator[Any]:
    """Returns an iterator over a column or any iterable, in bounded memory."""
    if isinstance(values, (str, bytes, bytearray, dict, set, frozenset)) or hasattr(values, "columns") or hasattr(values, "column_names"):
        return iter(items(values, name, of))  # which refuses it
    try:
        found = iter(values)
    except TypeError:
        return iter(items(values, name, of))
    return (item.as_py() if hasattr(item, "as_py") else item for item in found)


def chunks(columns: list[Iterator[Any]], size: int, name: str) -> Iterator[list[list[Any]]]:
    """Yields the next `size` items of each column."""
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise NvdpValueError(f"{name}: expected a number of texts of at least 1, found {size!r}")
    while True:
        found = [list(islice(column, size)) for column in columns]
        if len({len(part) for part in found}) > 1:
            raise NvdpValueError(f"labels, pairs, persons: expected as many as texts, found {' and '.join(str(len(part)) for part in found)} in the last part")
        if not found[0]:
            return
        yield found


def text_pairs(texts: Any, pairs: Any, some: bool = False) -> tuple[list[str], list[str] | None]:
    """Returns texts and their second texts, if there are some."""
    first = text_list(texts, some=some)
    second = None if pairs is None else text_list(pairs, "pairs")
    if second is not None and len(second) != len(first):
        raise NvdpValueError(f"pairs: expected {len(first)} as texts, found {len(second)}")
    return first, second


def strings(texts: Sequence[str] | None) -> tuple[Any, list[Any]]:
    """Returns a char *[], and the objects that must stay alive while it is used. NUL would end a text, so it becomes U+FFFD."""
    if texts is None:
        return ffi.NULL, []
    keep = [ffi.new("char[]", item.replace("\0", "\ufffd").encode()) for item in texts]
    return ffi.new("char *[]", keep), keep
