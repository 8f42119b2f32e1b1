"""The run time: `.vta` files, running them on devices, and evaluation."""

from vta.runtime.artifact.vta_file import load, save
from vta.runtime.evaluation.dataset import Dataset, Preprocessing, load_dataset, prepare
from vta.runtime.evaluation.evaluate import Evaluation, Top1, evaluate_top1
from vta.runtime.loaded_module import LoadedModule
from vta.runtime.local_device import LocalDevice, open_device
from vta.runtime.module import Module
from vta.runtime.module_device import ModuleDevice
from vta.runtime.outputs import Outputs
from vta.runtime.reports import BatchReport, CheckReport, RunReport

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
