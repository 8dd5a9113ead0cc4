"""What recorder, launches and readers rely on in every tracking store.

A new store subclasses `StoreContract`: it says how one is made, and how people delete a record.
"""

from pathlib import Path
from typing import Any

import pytest

from sweeps.records.errors import BadInput, StoreUnreachable
from sweeps.tracking.store import FreedWeights, RecordStore
from tests.sweeps.execution.examples import KEY, manifest, spec
from tests.sweeps.published import log_text, log_with, publish_manifest
from tests.sweeps.tracking.evaluations_contract import EvaluationsContract
from tests.sweeps.tracking.records_contract import ContentsContract, RecordsContract
from tests.sweeps.tracking.store_examples import OTHER, WEIGHTS, put, read


class ArtifactsContract:
    """The files of a trial's record."""

    def test_an_artifact_comes_back_byte_for_byte(self, store: RecordStore, tmp_path: Path) -> None:
        record_id, writer = put(store), store.writer()
        for content in (b"old", bytes(range(256))):
            (tmp_path / WEIGHTS).write_bytes(content)
            writer.upload(record_id, tmp_path / WEIGHTS)
        writer.upload(record_id, tmp_path / "log.txt")  # is not there
        record = read(store)
        assert store.holds(record, WEIGHTS)
        assert not store.holds(record, "log.txt")
        assert store.artifact(record, WEIGHTS).read_bytes() == bytes(range(256))
        assert Path(store.location(record, WEIGHTS)).name == WEIGHTS
        with pytest.raises(BadInput, match=r"holds no log\.txt"):
            store.artifact(record, "log.txt")
        with pytest.raises(BadInput, match="Known:"):
            store.artifact(record, "../../secret")

    def test_the_artifacts_of_one_name_come_by_the_keys_of_those_that_hold_it(
        self, store: RecordStore, tmp_path: Path
    ) -> None:
        for key, content in ((KEY, b"first"), (OTHER, b"other"), ("0" * 20, None)):
            record_id = put(store, key)
            if content:
                (tmp_path / WEIGHTS).write_bytes(content)
                store.writer().upload(record_id, tmp_path / WEIGHTS)
        records = [read(store, key) for key in (OTHER, "0" * 20, KEY)]
        paths = store.artifacts(records, WEIGHTS)
        contents = {key: path.read_bytes() for key, path in paths.items()}
        assert contents == {OTHER: b"other", KEY: b"first"}
        assert [*contents] == [OTHER, KEY]
        assert store.artifacts([], WEIGHTS) == {}
        with pytest.raises(BadInput, match="Known:"):
            store.artifacts(records, "../../secret")

    def test_deleted_weights_are_gone_and_say_what_they_freed(
        self, store: RecordStore, tmp_path: Path
    ) -> None:
        record_id, writer = put(store), store.writer()
        for name in (WEIGHTS, "log.txt"):
            (tmp_path / name).write_bytes(b"x" * 10)
            writer.upload(record_id, tmp_path / name)
        assert writer.delete_weights(record_id) == FreedWeights(10, "")
        assert writer.delete_weights(record_id) == FreedWeights(0, "")
        assert not store.holds(read(store), WEIGHTS)
        assert store.holds(read(store), "log.txt")

    def test_the_users_own_source_is_an_artifact(self, store: RecordStore) -> None:
        put(store, source="x = 'é'\n")
        path = store.artifact(read(store), "parts.py")
        first, rest = path.read_text(encoding="utf-8").split("\n", 1)
        assert first.startswith("# ")
        assert first.endswith("schema_version 1")
        assert rest == "x = 'é'\n"

    def test_a_record_without_a_config_is_refused_one(self, store: RecordStore) -> None:
        store.writer().create_trial(spec(), "own", 1)
        with pytest.raises(BadInput, match=r"holds no config\.json"):
            store.config(read(store))


class SweepsContract:
    """Sweeps' own records, their manifests and reports."""

    def files(self, store: Any, record_id: str) -> dict[str, bytes]:
        """Return the files of a record, by their paths in it."""
        raise NotImplementedError

    def test_a_sweep_is_opened_once_and_runs_until_it_is_settled(self, store: RecordStore) -> None:
        writer = store.writer()
        sweep_id = publish_manifest(writer, manifest())
        assert publish_manifest(store.writer(), manifest()) == sweep_id
        assert writer.open_sweep("example", "") == store.sweep_id("example") == sweep_id
        assert writer.find_sweep("example") == (sweep_id, True)
        for exit_code in (0, 3, 130):
            writer.settle_sweep(sweep_id, exit_code)
            assert writer.find_sweep("example") == (sweep_id, False)
            writer.settle_sweep(sweep_id, None)
            assert writer.find_sweep("example") == (sweep_id, True)

    def test_sweeps_are_told_by_name_sorted(self, store: RecordStore) -> None:
        for name in ("quickstart", "example"):
            store.writer().open_sweep(name, "what for")
        put(store)
        assert store.sweeps() == ["example", "quickstart"]
        with pytest.raises(BadInput, match=r"no sweep 'quickstrt' in .* Did you mean 'quickstart'"):
            store.sweep_id("quickstrt")
        with pytest.raises(BadInput, match="no sweep"):
            store.manifest("x' OR '1' = '1")

    def test_the_manifest_published_last_is_current_and_earlier_ones_stay(
        self, store: RecordStore
    ) -> None:
        first, second = manifest(), manifest(seeds=(0, 1, 2))
        names: list[set[str]] = []
        for published in (first, second, second, first):
            sweep_id = publish_manifest(store.writer(), published)
            assert store.manifest("example") == published
            names.append(set(self.files(store, sweep_id)))
        assert names[0] < names[1]
        assert names[1] == names[2] == names[3]

    def test_a_log_that_is_not_valid_is_refused_in_one_sentence(self, store: RecordStore) -> None:
        sweep_id = publish_manifest(store.writer(), manifest())
        other = log_text(manifest().model_copy(update={"sweep": "other"}))
        empty = log_with("{}").decode()
        for text, complaint in (
            ("{}", "line 1 is not as it was written"),
            (empty, "Field required"),
            (other, "that of 'other'"),
            ("", "declares no sweep"),
        ):
            store.writer().set_sweep_log(sweep_id, text)
            sentence = f"log of sweep 'example' is not valid.*{complaint}"
            with pytest.raises(BadInput, match=sentence) as error:
                store.manifest("example")
            assert "\n" not in str(error.value)

    def test_a_sweep_without_a_log_is_refused(self, store: RecordStore) -> None:
        store.writer().open_sweep("example", "")
        with pytest.raises(BadInput, match=r"holds no sweep\.jsonl"):
            store.manifest("example")

    def test_a_report_published_again_replaces_the_files_of_its_names(
        self, store: RecordStore, tmp_path: Path
    ) -> None:
        sweep_id = publish_manifest(store.writer(), manifest())
        paths = [tmp_path / "ablation.md", tmp_path / "cost.csv"]
        for content in (b"old", b"new"):
            for path in paths:
                path.write_bytes(content)
            store.writer().publish_files(sweep_id, paths)
        files = self.files(store, sweep_id)
        assert [files[f"report/{path.name}"] for path in paths] == [b"new", b"new"]
        assert store.manifest("example") == manifest()


class AbsenceContract:
    """A store that does not answer, and one that nobody has written to."""

    def test_a_store_that_does_not_answer_says_so_in_one_sentence(self, away: RecordStore) -> None:
        for ask in (away.sweeps, away.writer, lambda: away.records([KEY])):
            with pytest.raises(StoreUnreachable) as error:
                ask()
            assert "\n" not in str(error.value)
            assert "secret" not in str(error.value)

    def test_one_that_answers_is_not_refused(self, store: RecordStore) -> None:
        store.writer().check_reachable()
        assert store.exists()


class StoreContract(
    RecordsContract,
    ContentsContract,
    EvaluationsContract,
    ArtifactsContract,
    SweepsContract,
    AbsenceContract,
):
    """All of it, for the fixtures `store`, which is empty, and `away`, which does not answer."""
