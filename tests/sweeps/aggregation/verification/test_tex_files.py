import os
from pathlib import Path

import pytest

from sweeps.aggregation.verification import tex_files
from sweeps.aggregation.verification.tex_files import read_paper
from sweeps.records.errors import BadInput


def put(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        path = folder / f"{name.replace('__', '/')}.tex"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "paper.tex"


def names(paper: tex_files.Paper) -> list[str]:
    return sorted(str(path) for path in paper.files)


def test_a_paper_is_read_with_what_it_inputs_from_its_folder_and_below(tmp_path: Path) -> None:
    paper = read_paper(
        put(
            tmp_path,
            paper="\\input{one} \\include{sub/two} \\input{./sub/../three.tex}",
            one="\\input{sub/two}",
            sub__two="\\input{paper}",  # a circle
            three="",
            four="",
        )
    )
    assert names(paper) == ["one.tex", "paper.tex", "sub/two.tex", "three.tex"]
    assert paper.unread == []


def test_the_ending_may_be_left_out(tmp_path: Path) -> None:
    put(tmp_path, paper="x")
    assert read_paper(tmp_path / "paper").files[Path("paper.tex")].source == "x"


def test_nothing_outside_the_papers_folder_is_read(tmp_path: Path) -> None:
    put(tmp_path, secret="x")
    source = f"\\input{{../secret}}\n\\input{{{tmp_path}/secret}}\n\\input{{sub/../../secret}}"
    paper = read_paper(put(tmp_path / "here", paper=source))
    assert names(paper) == ["paper.tex"]
    assert [place.rpartition(" ")[2] for place, _ in paper.unread] == ["1", "2", "3"]
    assert all("outside the paper's folder" in why for _, why in paper.unread)


def test_no_link_is_followed(tmp_path: Path) -> None:
    put(tmp_path, secret="x")
    first = put(tmp_path / "here", paper="\\input{link} \\input{folder/secret}")
    (tmp_path / "here" / "link.tex").symlink_to(tmp_path / "secret.tex")
    (tmp_path / "here" / "folder").symlink_to(tmp_path)
    paper = read_paper(first)
    assert names(paper) == ["paper.tex"]
    assert all("behind a link" in why for _, why in paper.unread)
    assert len(paper.unread) == 2
    (tmp_path / "linked.tex").symlink_to(first)
    with pytest.raises(BadInput, match="not a regular file"):
        read_paper(tmp_path / "linked.tex")


def test_a_pipe_holds_nobody_up(tmp_path: Path) -> None:
    first = put(tmp_path, paper="\\input{pipe}")
    os.mkfifo(tmp_path / "pipe.tex")
    (complaint,) = read_paper(first).unread
    assert "cannot be read" in complaint[1]


def test_what_is_not_there_is_told_with_its_line(tmp_path: Path) -> None:
    first = put(tmp_path, paper="a\n\\input{tikz}")
    assert read_paper(first).unread == [
        (f"{first}, line 2", "\\input{tikz} was not followed: it is not in the paper's folder")
    ]


def test_inputs_are_followed_no_deeper_than_allowed(tmp_path: Path) -> None:
    chain = {f"f{n}": f"\\input{{f{n + 1}}}" for n in range(40)}
    with pytest.raises(BadInput, match="inputs 20 deep: verify it in parts"):
        read_paper(put(tmp_path, paper="\\input{f0}", **chain))


@pytest.mark.parametrize("limit", ["MOST_FILES", "MOST_BYTES_OF_ALL"])
def test_no_more_is_read_than_allowed(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tex_files, limit, 3)
    first = put(tmp_path, paper="\\input{a}\\input{b}\\input{c}", a="", b="", c="")
    with pytest.raises(BadInput, match="beyond what is read of a paper"):
        read_paper(first)


def test_a_file_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tex_files, "MOST_BYTES", 20)
    with pytest.raises(BadInput, match="too large to be read"):
        read_paper(put(tmp_path, paper="x" * 21))
    (complaint,) = read_paper(put(tmp_path, paper="\\input{large}", large="x" * 21)).unread
    assert "cannot be read" in complaint[1]


def test_a_paper_that_is_not_there_gets_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nope\.tex cannot be read \(No such file"):
        read_paper(tmp_path / "nope.tex")
