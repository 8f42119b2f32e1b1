"""Records in JSON: fields that came later may be missing, and are left out where they say nothing."""

import pytest

from vta.codegen.region_program import Placement
from vta.errors import ArtifactError
from vta.runtime.artifact.json_record import from_json, to_json

OLD = {"layer": "head", "op": "qnn.lookup", "where": "host", "reason": "no VTA template for qnn.lookup on int8"}


def test_placements_of_files_from_before_rules_were_kept():
    found = from_json(Placement, OLD, "placement")
    assert (found.rule, found.value) == ("", "")
    assert to_json(found) == OLD


def test_rules_are_kept():
    kept = Placement(**OLD, rule="tables", value="int8")
    assert from_json(Placement, to_json(kept), "placement") == kept


def test_what_has_no_default_must_be_there():
    with pytest.raises(ArtifactError, match="placement: field 'reason' is missing"):
        from_json(Placement, {key: OLD[key] for key in ("layer", "op", "where")}, "placement")
