"""The run time: `.vta` files, running them on devices, and evaluation."""

from vta.runtime.artifact.vta_file import load, save
from vta.runtime.evaluation.dataset import Dataset, Preprocessing, load_dataset, prepare
from vta.runtime.evaluation.evaluate import Evaluation, Top1, evaluate_top1
from vta.runtime.module import BatchReport, CheckReport, Module, RunReport

__all__ = [
    "BatchReport",
    "CheckReport",
    "Dataset",
    "Evaluation",
    "Module",
    "Preprocessing",
    "RunReport",
    "Top1",
    "evaluate_top1",
    "load",
    "load_dataset",
    "prepare",
    "save",
]
