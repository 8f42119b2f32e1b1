"""The run time: `.vta` files, running them on devices, and evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vta.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from vta.runtime.compiled_module import load, save
    from vta.runtime.evaluation.dataset import Dataset, Preprocessing, load_dataset, prepare
    from vta.runtime.evaluation.evaluate import Evaluation, Top1, evaluate_top1
    from vta.runtime.loaded_module import LoadedModule
    from vta.runtime.local_device import LocalDevice, open_device
    from vta.runtime.module import Module
    from vta.runtime.module_device import ModuleDevice
    from vta.runtime.reports import BatchReport, CheckReport, RunReport
    from vta.runtime.values.outputs import Outputs

__all__ = [
    "BatchReport",
    "CheckReport",
    "Dataset",
    "Evaluation",
    "LoadedModule",
    "LocalDevice",
    "Module",
    "ModuleDevice",
    "Outputs",
    "Preprocessing",
    "RunReport",
    "Top1",
    "evaluate_top1",
    "load",
    "load_dataset",
    "open_device",
    "prepare",
    "save",
]

__getattr__ = lazy_names(
    __name__,
    {
        "vta.runtime.compiled_module": ("load", "save"),
        "vta.runtime.evaluation.dataset": ("Dataset", "Preprocessing", "load_dataset", "prepare"),
        "vta.runtime.evaluation.evaluate": ("Evaluation", "Top1", "evaluate_top1"),
        "vta.runtime.loaded_module": ("LoadedModule",),
        "vta.runtime.local_device": ("LocalDevice", "open_device"),
        "vta.runtime.module": ("Module",),
        "vta.runtime.module_device": ("ModuleDevice",),
        "vta.runtime.values.outputs": ("Outputs",),
        "vta.runtime.reports": ("BatchReport", "CheckReport", "RunReport"),
    },
)
