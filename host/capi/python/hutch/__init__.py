"""Untrusted command-line applications as WebAssembly components, inside a Python program.

    import hutch

    with hutch.Host() as host:
        todo = host.package("packages/todo")
        todo.run("add", "milk").check()
        print(todo.run("list").output["items"])

Requests, answers and error codes are those of hutch's command line: see its README and ``hutch.h``. A guest gets what a call says and
nothing else. Hosts may be shared by threads; a call holds no lock of the interpreter. Signals wait until a call has ended, Ctrl-C too: give
it a ``deadline_ms``. A process that was forked opens hosts of its own; it is refused those of its parent.

The engine handles the processor's faults of guests. Whoever installs a handler for them later must hand them on, which ``faulthandler`` does not:
enable that before the first call, or give hosts ``interpreter=True``, which takes no such faults.
"""

import ctypes
import json
import os
import sys
from typing import Any, Dict, Iterator, List, Mapping, Optional, Union

__all__ = ["Answer", "Error", "Host", "Package", "Tools", "__version__"]

_ABI = 1
_Path = Union[str, os.PathLike]  # type: ignore[type-arg]
_HERE = os.path.dirname(os.path.abspath(__file__))


class _Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    def value(self) -> bytes:
        return ctypes.string_at(self.data, self.length) if self.data else b""


class _Answer(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("json", _Bytes), ("out", _Bytes), ("err", _Bytes)]

    def taken(self) -> Any:
        """The document and the streams; what it holds is given up when it goes, whatever interrupts that."""
        text = self.json.value()
        return (json.loads(text.decode()) if text else {}), self.out.value(), self.err.value()

    def __del__(self) -> None:
        if self.json.data or self.out.data or self.err.data:
            _FREE(ctypes.byref(self))


def _library() -> ctypes.CDLL:
    name = {"darwin": "libhutch_capi.dylib", "win32": "hutch_capi.dll"}.get(sys.platform, "libhutch_capi.so")
    library = ctypes.CDLL(os.path.join(_HERE, name))
    library.hutch_abi.restype = ctypes.c_uint32
    if library.hutch_abi() != _ABI:
        raise ImportError("{} has another interface than this package: {}".format(name, library.hutch_abi()))
    size, place = ctypes.c_size_t, ctypes.POINTER(_Answer)
    library.hutch_version.restype = ctypes.c_char_p
    library.hutch_open.argtypes, library.hutch_open.restype = [ctypes.c_char_p, size, place], ctypes.c_uint64
    library.hutch_call.argtypes = [ctypes.c_uint64, ctypes.c_char_p, size, ctypes.c_char_p, size, place]
    library.hutch_cancel.argtypes, library.hutch_cancel.restype = [ctypes.c_uint64, ctypes.c_char_p, size], size
    library.hutch_answer_free.argtypes, library.hutch_answer_free.restype = [place], None
    library.hutch_close.argtypes, library.hutch_close.restype = [ctypes.c_uint64], None
    return library


_LIB = _library()
# Kept apart: at the interpreter's end names of this module may go before what needs them.
_FREE, _CLOSE = _LIB.hutch_answer_free, _LIB.hutch_close
#: The version of hutch.
__version__ = _LIB.hutch_version().decode()


class Error(Exception):
    """The host could not do what was asked, or the application failed and :meth:`Answer.check` was called."""

    def __init__(self, report: Mapping[str, Any], status: int, stdout: bytes = b"", stderr: bytes = b"") -> None:
        super().__init__("{}: {}".format(report.get("code"), report.get("message")))
        #: The stable code, as ``FUEL_LIMIT``.
        self.code = str(report.get("code"))
        #: What happened; not stable.
        self.message = str(report.get("message"))
        #: What to do about it.
        self.suggestion = str(report.get("suggestion"))
        #: Facts by name, as ``kept``.
        self.details = dict(report.get("details") or {})  # type: Dict[str, Any]
        #: The exit status that the command line ends with.
        self.status = status
        #: What the application wrote, unchanged, if it ran.
        self.stdout = stdout
        self.stderr = stderr


class Answer:
    """What a call came to."""

    def __init__(self, status: int, document: Mapping[str, Any], stdout: bytes, stderr: bytes) -> None:
        #: The exit status that the command line would end with; 0 is good.
        self.status = status
        #: The whole document: ``ok``, ``command``, ``result``.
        self.document = document
        #: Its result: for a run ``output``, ``fuel``, ``kept``, ``volumes``, ``entry`` and more.
        self.result = document.get("result")  # type: Any
        #: What the application wrote, unchanged.
        self.stdout = stdout
        self.stderr = stderr

    @property
    def ok(self) -> bool:
        """Whether its end was good; only then is what it changed kept."""
        return self.status == 0

    @property
    def output(self) -> Any:
        """The JSON document that the application printed, if it printed one."""
        return (self.result or {}).get("output")

    def check(self) -> "Answer":
        """Itself, if its end was good.

        :raises Error: the host's report of how it ended.
        """
        if self.ok:
            return self
        report = self.result.get("error") or {
            "code": "GUEST_FAILED",
            "message": "the guest ended with status {}".format(self.status),
            "suggestion": "mend what the application says in stdout and stderr, then make the call again",
        }
        details = dict(report.get("details") or {}, output=self.output, stderr=self.result.get("stderr"))
        raise Error(dict(report, details=details), self.status, self.stdout, self.stderr)

    def __repr__(self) -> str:
        return "<hutch.Answer status={} output={!r}>".format(self.status, self.output)


#: A package's commands with their schemas: ``name``, ``description``, ``inputSchema`` and more of each.
Tools = List[Dict[str, Any]]


class Host:
    """A host: in memory, or in a home that it may share with the command line. Closed at the end of a ``with``.

    :param home: the folder of instances and installed packages; in memory if absent.
    :param cache: the folder for compiled code, which needs a home.
    :param compiler: the program that compiles, as a child with limits; the one in this package if absent, and none if empty: then this
        process compiles, and nothing bounds a compiler's time and memory.
    :param interpreter: whether guests are interpreted, with the same outcomes.
    :param wait: seconds for which another process's lock is waited for; else 10.
    :raises Error: the options can't be followed.
    """

    def __init__(
        self,
        home: Optional[_Path] = None,
        *,
        cache: Optional[_Path] = None,
        compiler: Optional[_Path] = None,
        interpreter: bool = False,
        wait: Optional[float] = None
    ) -> None:
        self._handle = 0
        if compiler is None:
            compiler = program() or ""
        options = {"interpreter": interpreter}  # type: Dict[str, Any]
        for name, path in (("home", home), ("cache", cache), ("compiler", compiler)):
            if path is not None and os.fspath(path):
                options[name] = os.fspath(path)
        if wait is not None:
            options["wait_ms"] = int(wait * 1000)
        text, answer = json.dumps(options).encode(), _Answer()
        self._handle = _LIB.hutch_open(text, len(text), ctypes.byref(answer))
        document = answer.taken()[0]
        if not self._handle:
            raise Error(document, answer.status)

    def __enter__(self) -> "Host":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self, _close: Any = _CLOSE) -> None:
        """Refuses what is asked from now on; what is under way ends as it would."""
        handle, self._handle = getattr(self, "_handle", 0), 0
        if handle:
            _close(handle)

    def package(self, package: _Path, instance: str = "default") -> "Package":
        """A package and one of its instances: a folder, a packed file, or the slug of an installed package. Nothing is opened yet."""
        return Package(self, os.fspath(package), instance)

    def call(self, request: Mapping[str, Any], stdin: bytes = b"") -> Answer:
        """Makes a request of the form that ``hutch.h`` states. ``deadline_ms`` bounds it; ``id`` is a name for :meth:`cancel`.

        :raises Error: it was refused, or the host failed.
        """
        text, stdin, answer = json.dumps(request).encode(), bytes(stdin), _Answer()
        _LIB.hutch_call(self._handle, text, len(text), stdin, len(stdin), ctypes.byref(answer))
        document, out, err = answer.taken()
        if document.get("error"):
            raise Error(document, answer.status, out, err)
        return Answer(answer.status, document, out, err)

    def check(self, proof: bytes, package: _Path = "", **more: Any) -> Answer:
        """Runs again what a proof says, by the package in it or the one that is named; what it is of, and what it printed. Nothing
        is kept.

        :raises Error: it comes to something else, or can't be made again here.
        """
        return self.call(dict(more, command="prove", check=True, package=os.fspath(package)), proof)

    def cancel(self, id: str) -> int:
        """Cancels the calls under way of this ``id``; how many there were. They raise an error with the code ``CANCELLED``."""
        text = id.encode()
        return int(_LIB.hutch_cancel(self._handle, text, len(text)))


class Package:
    """A package and one of its instances.

    What calls take by name, they take as requests do: ``stdin``, ``now``, ``seed``, ``environment``, ``secrets``, ``limits``, ``mounts``,
    ``contract``, ``guard``, ``unchecked``, ``confirmed``, ``retry``, ``digests_only``, ``deadline_ms``, ``id``.
    """

    def __init__(self, host: Host, package: str, instance: str) -> None:
        self.host, self.package, self.instance = host, package, instance

    def call(self, command: str, stdin: bytes = b"", **more: Any) -> Answer:
        """Makes a request about it.

        :raises Error: it was refused, or the host failed.
        """
        own = {"command": command, "package": self.package, "instance": self.instance}
        for name in own:
            if name in more:
                raise TypeError("{} is what this package object says".format(name))
        return self.host.call(dict(more, **own), stdin)

    def run(self, *arguments: str, stdin: Union[str, bytes] = b"", **more: Any) -> Answer:
        """Runs a command and keeps what a good end leaves. A guest that fails is an answer that is not ``ok``.

        :raises Error: the call was refused, or the host failed.
        """
        return self._invoke("run", arguments, stdin, more)

    def plan(self, *arguments: str, stdin: Union[str, bytes] = b"", **more: Any) -> Answer:
        """Runs it and keeps the record alone: ``result["plan_id"]`` and ``result["diff"]``.

        :raises Error: as for :meth:`run`, and where the guest failed.
        """
        return self._invoke("plan", arguments, stdin, more)

    def _invoke(self, command: str, arguments: Any, stdin: Union[str, bytes], more: Dict[str, Any]) -> Answer:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        return self.call(command, given, arguments=list(arguments), **more)

    def apply(self, plan: Union[str, Answer] = "last", **more: Any) -> Answer:
        """Commits what a plan said, if the state is still the one that it saw.

        :raises Error: it is not, or the plan needs ``confirmed``.
        """
        return self.call("apply", plan=plan if isinstance(plan, str) else plan.result["plan_id"], **more)

    def undo(self, count: int = 1, **more: Any) -> Answer:
        """Takes back the last changes, as a new entry; the last one alone also in the real folders of ``mounts``.

        :raises Error: there are not so many, or a folder is not as the run left it.
        """
        return self.call("undo", count=count, **more)

    def verify(self, entry: Optional[str] = None) -> Answer:
        """Runs what was recorded again and compares every byte: one entry, or all of them.

        :raises Error: something did not come to the same.
        """
        return self.call("verify", all=True) if entry is None else self.call("verify", entry=entry)

    def prove(self, entry: Optional[str] = None, bare: bool = False) -> bytes:
        """All that an entry follows from, as a file that :meth:`Host.check` checks on any machine: the last one with a run, if none is named.

        :param bare: leave the package out.
        :raises Error: it can't be made again, or comes to something else.
        """
        named: Dict[str, Any] = {} if entry is None else {"entry": entry}
        return self.call("prove", bare=bare, **named).stdout

    def ledger(self) -> Iterator[Dict[str, Any]]:
        """Summaries of all entries, the last first; those that are written meanwhile are not among them."""
        offset, last, more = 0, None, True  # type: int, Optional[int], bool
        while more:
            page = self.call("ledger list", offset=offset).result
            for item in page["items"]:
                if last is None or item["sequence"] < last:
                    last = item["sequence"]
                    yield item
            offset, more = offset + len(page["items"]), page["has_more"] and bool(page["items"])

    def tools(self) -> Tools:
        """Its commands, as tools of an agent."""
        return self.call("meta").result["tools"]  # type: ignore[no-any-return]


def program() -> Optional[str]:
    """The ``hutch`` program in this package, if it is there."""
    path = os.path.join(_HERE, "bin", "hutch.exe" if sys.platform == "win32" else "hutch")
    return path if os.path.isfile(path) else None

