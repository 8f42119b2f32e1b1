"""The graph and its operators, which importing the package declares."""

import vta.ir.ops  # noqa: F401
