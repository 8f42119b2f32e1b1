"""Programs that the published compiler made, recorded with device memory before and after."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np

from vta.config.hardware import HardwareConfig
from vta.devices.device import Tokens

PAGE = 4096
HW = HardwareConfig("sim", "0.0.2", 3, 3, 5, 0, 4, 15, 15, 18, 17)

UNITS = [
    "acc8_load",
    "alu_add_int32",
    "alu_add_int8",
    "alu_multiply_int8",
    "carry_alu_add_int32_run2",
    "dense_1x256x128_tophub",
    "unit_alu_ADD",
    "unit_alu_ADD_imm",
    "unit_alu_MAX",
    "unit_alu_MAX_imm",
    "unit_alu_SHL_imm",
    "unit_alu_SHR_imm",
    "unit_gemm_default",
    "unit_gemm_smt",
    "unit_padded_load_X0",
    "unit_padded_load_X1",
    "unit_padded_load_Y0",
    "unit_padded_load_Y1",
    "unit_padded_load_all",
    "unit_relu",
    "unit_save_load",
    "unit_shift_and_scale",
]
NETWORKS = [
    "conv_C2_tophub",
    "conv_C4_tophub",
    "conv_C5_tophub",
    "conv_C8_tophub",
    "group_conv_D8_tophub",
    "resnet_n39_residual_add",
]
LARGEST = "conv_C2_fallback"

COUNTERS = {
    "inp_bytes": "inp_load_nbytes",
    "wgt_bytes": "wgt_load_nbytes",
    "acc_bytes": "acc_load_nbytes",
    "uop_bytes": "uop_load_nbytes",
    "out_bytes": "out_store_nbytes",
    "gemm_uops": "gemm_counter",
    "alu_uops": "alu_counter",
}


class Recorded:
    """One recorded program and the memory before and after it."""

    def __init__(self, path):
        with np.load(path) as data:
            self.stream = data["insns"]
            self.addresses = data["page_addr"].astype(np.int64)
            self.before = data["page_before"]
            self.after = self.before.copy()
            self.after[data["page_after_index"]] = data["page_after"]
            self.counters = json.loads(str(data["counters"]))
            meta = json.loads(str(data["meta"]))
        self.tokens_before, self.tokens_after = (
            Tokens(*(meta[key][queue] for queue in ("l2g", "g2l", "g2s", "s2g"))) for key in ("tokens_before", "tokens_after")
        )
        self.memory_bytes = int(self.addresses.max()) + PAGE


@cache
def recorded(shared: Path, name: str) -> Recorded:
    return Recorded(shared / "programs" / f"{name}.npz")
