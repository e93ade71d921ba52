# tests/python/package/test_seam.py -- places that lower rooms ask, and higher rooms fill.
import pytest

from ebb._base import seam


@pytest.fixture(autouse=True)
def places(monkeypatch):
    """Let the test have what is in the places to itself."""
    monkeypatch.setattr(seam, "_filled", dict(seam._filled))


def test_a_place_holds_what_was_put_there_last():
    seam.fill("spell_call", len)
    seam.fill("spell_call", max)
    assert seam.filled("spell_call") is max


def test_a_place_that_nobody_named_is_refused():
    with pytest.raises(KeyError, match="needs a place of PLACES, got 'nothing'"):
        seam.fill("nothing", len)


def test_modules_that_others_laid_beside_fill_places_when_one_is_first_asked(monkeypatch, tmp_path):
    beside = tmp_path / "_beside"
    beside.mkdir()
    (beside / "other.py").write_text(
        "from ebb._base import seam\nseam.fill('spell_call', 'from beside')\n"
    )
    import ebb

    monkeypatch.setattr(ebb, "__path__", [str(tmp_path)])
    monkeypatch.setattr(seam, "_asked_others", False)
    seam._filled.pop("spell_call", None)
    assert seam.filled("spell_call") == "from beside"
