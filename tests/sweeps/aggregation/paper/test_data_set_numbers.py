"""The numbers of a table of arms by data sets, as a paper cites them."""

from sweeps.aggregation.paper.data_set_numbers import data_set_numbers, data_set_texts
from sweeps.aggregation.rendering.table import MINUS
from sweeps.aggregation.results.data_set_results import DataSetResults
from tests.sweeps.aggregation.tables.compared_data_sets import column_of
from tests.sweeps.aggregation.tables.test_data_sets import compared, row_of, section_of, table_of


def test_a_paper_cites_numbers_over_all_and_on_one_data_set():
    numbers = data_set_numbers(compared())

    assert numbers["em"]["overall_points"] == f"{MINUS}1.23"
    assert numbers["em"]["overall_points_half"] == "0.60"
    assert numbers["em"]["overall_verdict"] == "different"
    assert numbers["em"]["num_better"] == "2"
    cell = row_of(table_of(compared()), "em")["MNIST"].strip("*")
    on_mnist = numbers["em on MNIST"]
    assert f"{on_mnist['error']} ± {on_mnist['error_half']}" == cell
    assert on_mnist["verdict"] == "different"
    assert on_mnist["test_error"] == on_mnist["error"]
    assert "test_error" not in data_set_numbers(compared(), is_of_test=False)["em on MNIST"]
    assert "error" not in numbers["cnn on SVHN"]


def test_a_number_whose_name_stands_for_two_places_is_left_out():
    wrong = {"a": (5, 6, 7), "a on b": (6, 6, 6)}
    columns = (column_of("b on c", wrong), column_of("c", wrong))
    numbers = data_set_numbers(DataSetResults(columns, "points", False))

    assert "a on b on c" not in numbers
    assert {"a on c", "a on b on b on c"} <= numbers.keys()


def test_the_macros_of_a_sweep_hold_its_numbers_and_the_note_of_its_table():
    section = section_of(compared())
    texts = {text.name: text.content for text in data_set_texts("across", compared(), [section])}

    values = texts["capsweep-across.tex"]
    assert r"\capsweepvalue{across}{em on MNIST}{verdict}{different}" in values
    assert r"\capsweepvalue{across}{em}{overall_points}{\ensuremath{-}1.23}" in values
    assert r"\capsweepnotetext{across}{data_sets}{" in values
    assert "a family apart from the cells" in values
    assert "capsweep.sty" in texts
