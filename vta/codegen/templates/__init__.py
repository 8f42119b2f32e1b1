"""A file for each way to emit tile operators. Importing the folder imports them all: each registers itself."""

from importlib import import_module
from pkgutil import iter_modules

from vta.codegen.templates.emission import emit_operator

__all__ = ["emit_operator"]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
