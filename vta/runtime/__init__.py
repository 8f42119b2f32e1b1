"""Running compiled networks: artifacts, modules on devices, evaluation."""

from vta.runtime.artifact import load, save
from vta.runtime.dataset import Dataset, Preprocessing, load_dataset, prepare
from vta.runtime.evaluate import Evaluation, evaluate_top1
from vta.runtime.module import Module

__all__ = [
    "Dataset",
    "Evaluation",
    "Module",
    "Preprocessing",
    "evaluate_top1",
    "load",
    "load_dataset",
    "prepare",
    "save",
]
