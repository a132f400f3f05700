import re

from local.pins import MODEL_FILES, engine_pins, find_model, read_pins


def test_every_pin_has_a_digest_and_a_name_of_its_own() -> None:
    pins = read_pins()
    assert all(re.fullmatch("[0-9a-f]{64}", pin.sha256) for pin in pins)
    assert all(pin.size > 0 for pin in pins)
    assert len({pin.filename for pin in pins}) == len(pins)


def test_opensearch_is_made_of_62_jars_and_one_plugin() -> None:
    packagings = [pin.packaging for pin in engine_pins()]
    assert packagings.count("jar") == 62
    assert packagings.count("zip") == 1


def test_every_model_has_an_archive_that_says_by_whom_it_is_fetched() -> None:
    for name in MODEL_FILES:
        archive = find_model(name)
        assert bool(archive.group) == (archive.packaging == "jar")
        assert archive.packaging in {"jar", "whl"}
