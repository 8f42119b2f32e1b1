"""Verilog with one module in the place of many that are the same but for their names.

Synthesis maps each by itself, and lanes are many.
"""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["MODULE", "merged"]

MODULE = re.compile(r"^module (?P<name>\\?\S+) (?P<body>.*?^endmodule\n)", re.MULTILINE | re.DOTALL)
_NUMBERED = re.compile(r"(?<=:dump_module)\$\d+")
"""What numbers modules with processes: one number in each."""
_INSTANCE = re.compile(r"^  (?P<module>\\\S+)  \S+ +\(\n(?P<ports>.*?)^  \);\n", re.MULTILINE | re.DOTALL)
_PORT = re.compile(r"(?<!\.)\\port\$\d+\$\d+(?= )")
"""A port that was given no name, as what it is connected to is a part of something: numbered through all modules."""
_CONNECTED = re.compile(r"(?<=\.)\\port\$\d+\$\d+(?= )")


def merged(verilog: str, unit_of: Callable[[str], str]) -> str:
    """Leave one of the modules of a unit that are the same; `unit_of` says which unit a module of that name belongs to.

    What is numbered through all modules is numbered for each by itself, so that a module's text says nothing of the others.
    """
    return _merged(_with_own_numbers(_NUMBERED.sub("$0", verilog)), unit_of)


def _merged(verilog: str, unit_of: Callable[[str], str]) -> str:
    first: dict[tuple[str, str], str] = {}
    same: dict[str, str] = {}
    for module in MODULE.finditer(verilog):
        key = unit_of(module["name"]), module["body"]
        kept = first.setdefault(key, module["name"])
        if kept != module["name"]:
            same[module["name"]] = kept
    if not same:
        return verilog
    left = MODULE.sub(lambda module: "" if module["name"] in same else module[0], verilog)

    def of_kept(instance: re.Match[str]) -> str:
        name = instance["module"]
        return instance[0].replace(name, same.get(name, name), 1)

    return _merged(_INSTANCE.sub(of_kept, left), unit_of)


def _with_own_numbers(verilog: str) -> str:
    """Number the ports without names anew, those of each module by themselves, and where it is used."""
    ports = {module["name"]: _numbers(module["body"].split(";", 1)[0]) for module in MODULE.finditer(verilog)}

    def connected(instance: re.Match[str]) -> str:
        numbers = ports.get(instance["module"], {})
        return _CONNECTED.sub(lambda port: numbers.get(port[0], port[0]), instance[0])

    def module_of(module: re.Match[str]) -> str:
        numbers = ports[module["name"]]
        return _INSTANCE.sub(connected, _PORT.sub(lambda port: numbers.get(port[0], port[0]), module[0]))

    return MODULE.sub(module_of, verilog)


def _numbers(header: str) -> dict[str, str]:
    return {name: f"\\own_port_{index}" for index, name in enumerate(dict.fromkeys(_PORT.findall(header)))}
