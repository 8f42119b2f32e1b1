"""The errors that a user of `vta` can meet, one small hierarchy under `VTAError`."""

from __future__ import annotations

from collections.abc import Mapping

from vta.support.shorten import printable

__all__ = [
    "ArtifactError",
    "ClusterError",
    "CompileError",
    "CompilerFaultWarning",
    "ConfigError",
    "DeviceError",
    "EncodingError",
    "GpuFaultError",
    "GraphError",
    "ImportModelError",
    "NoCalibrationWarning",
    "OpenShapesError",
    "RemoteError",
    "SweepError",
    "TimeLimitError",
    "TuningError",
    "UsageError",
    "VTAError",
    "TileTextError",
    "VerificationError",
    "WriteError",
]


_LONGEST_LINE = 2000


class VTAError(Exception):
    """Base of every error that `vta` raises on purpose; its text is fit to show to a user.

    Whatever a message quotes, its lines are printable and of bounded length. `parameters` are the names of what the caller could
    give; the command line adds its own.
    """

    def __init__(self, *args: object, parameters: tuple[str, ...] = ()) -> None:
        super().__init__(*args)
        self.parameters = parameters

    def __str__(self) -> str:
        return _fit_to_show(super().__str__())


class ConfigError(VTAError):
    """A hardware config is malformed or describes hardware that the ISA cannot encode."""


class EncodingError(VTAError):
    """An instruction, micro-op or assembly text does not fit the encoding."""


class GraphError(VTAError):
    """A graph is malformed: wrong types, shapes or attributes of an operator."""


class ImportModelError(VTAError):
    """A model file is unreadable or uses something that cannot be imported."""


class OpenShapesError(ImportModelError):
    """A model leaves dimensions of inputs open that must be given."""

    def __init__(self, path: str, shapes: Mapping[str, tuple[int | str, ...] | None]) -> None:
        self.shapes = dict(shapes)
        """By input, dimensions or the names of open ones; None where the model does not tell how many there are."""
        opened = "; ".join(f"{name!r} ({_shape_text(shape)})" for name, shape in self.shapes.items())
        wanted = ", ".join(f"{name!r}: ({_shape_text(shape)})" for name, shape in self.shapes.items())
        super().__init__(f"{path}: dimensions of inputs are open: {opened}; give shapes={{{wanted}}} with numbers for them")


def _shape_text(shape: tuple[int | str, ...] | None) -> str:
    return "..." if shape is None else ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")


class CompileError(VTAError):
    """A graph or workload cannot be compiled for the given hardware."""


class TileTextError(VTAError):
    """A text of the tile level is malformed."""


class VerificationError(VTAError):
    """A program could deadlock, race, leave its buffers or use what its target lacks."""


class ArtifactError(VTAError):
    """A `.vta` file is damaged, of another version, or made for another hardware config."""


class DeviceError(VTAError):
    """A device failed: deadlock, access out of bounds, out of memory, time limit."""


class GpuFaultError(DeviceError):
    """A kernel has brought a GPU down for this process: nothing else can be done with it there."""


class TimeLimitError(DeviceError):
    """A device was not done within its limit of time."""


class RemoteError(VTAError):
    """A tracker or a server cannot be reached, refuses, or went away; or a lease has ended."""


class ClusterError(VTAError):
    """A cluster does not answer, has no workers, or has workers of another version."""


class SweepError(VTAError):
    """The description of a sweep is malformed, or its directory belongs to another sweep."""


class TuningError(VTAError):
    """Tuning cannot start or go on: no valid candidate, an unknown tuner, a task or record that does not fit."""


class WriteError(VTAError, OSError):
    """A file cannot be written: no space, no permission, a limit. `errno`, `strerror` and `filename` say why and which."""

    def __init__(self, message: str, number: int | None = None, reason: str = "", path: str | None = None) -> None:
        OSError.__init__(self, number, reason or message, path)
        self.parameters = ()
        self._message = message

    def __str__(self) -> str:
        return _fit_to_show(self._message)

    def __reduce__(self) -> tuple[type[WriteError], tuple[str, int | None, str, str | None]]:
        return type(self), (self._message, self.errno, self.strerror or "", self.filename)


class UsageError(VTAError):
    """The command line or a call was given arguments that do not go together."""


class NoCalibrationWarning(UserWarning):
    """A float network is quantised without samples of its inputs."""


class CompilerFaultWarning(UserWarning):
    """The compiler made a program that breaks a rule: a fault of `vta`, for which operators are left to the host.

    Its text begins with "fault of the compiler". ``warnings.filterwarnings("error", category=CompilerFaultWarning)`` makes it an
    error.
    """


def _fit_to_show(text: str) -> str:
    return "\n".join(
        line if len(line) <= _LONGEST_LINE and line.isprintable() else printable(line, _LONGEST_LINE) for line in text.split("\n")
    )
