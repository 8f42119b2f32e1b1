"""A file for each way to emit tile operators. Importing the folder imports them all: each registers itself."""

import os
from importlib import import_module

from vta.codegen.templates.emission import emit_operator

__all__ = ["emit_operator"]

for _file in sorted(os.listdir(os.path.dirname(__file__))):
    if _file.endswith(".py") and not _file.startswith("_"):
        import_module(f"{__name__}.{_file.removesuffix('.py')}")
