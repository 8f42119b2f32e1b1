from vta.report.table import format_table


def test_numbers_align_right_and_text_left():
    text = format_table(("name", "macs", "share"), [("conv", 12345, "0.5"), ("a longer name", 7, "0.25")])
    assert text.split("\n") == [
        "name             macs  share",
        "-------------  ------  -----",
        "conv           12,345  0.5",
        "a longer name       7  0.25",
    ]


def test_no_rows():
    assert format_table(("a", "b"), iter(())) == "a  b\n-  -"
