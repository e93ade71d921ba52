# tests/python/compat/test_hub.py -- torch.hub without downloads: local folders, and what refuses.
import os

import pytest

import ebb
from ebb import hub
from ebb.torch_compat import finder


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "parts.py").write_text("SIZE = 3\n")
    (tmp_path / "hubconf.py").write_text(
        "import ebb\nfrom parts import SIZE\n_hidden = len\n"
        "def net(size=SIZE):\n    'A layer.'\n    return ebb.nn.Linear(size, 1)\n"
    )
    return str(tmp_path)


def test_entry_points_of_a_local_folder_run(folder):
    assert hub.load(folder, "net", source="local").weight.shape == (1, 3)
    assert hub.load(folder, "net", 5, source="local", trust_repo=True).weight.shape == (1, 5)
    assert "net" in hub.list(folder, source="local")
    assert hub.help(folder, "net", source="local") == "A layer."


def test_what_is_not_there_is_refused_with_the_way_out(folder, tmp_path):
    with pytest.raises(NotImplementedError, match=r"^hub.load: nothing is downloaded, .*\nhint"):
        hub.load("pytorch/vision", "resnet18")
    with pytest.raises(ValueError, match=r"hub.load: .*hubconf.py has no function 'other'"):
        hub.load(folder, "other", source="local")
    with pytest.raises(ValueError, match=r"hub.list: needs a folder with a hubconf.py"):
        hub.list(str(tmp_path / "none"), source="local")


def test_parameters_come_from_the_folder_of_files(tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "_chosen", None)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert hub.get_dir() == os.path.join(tmp_path, "hub")
    hub.set_dir(tmp_path)
    url = "https://example.org/files/net-1234.pth?x=1"
    with pytest.raises(NotImplementedError, match=r"checkpoints/net-1234.pth is not there\nhint"):
        hub.load_state_dict_from_url(url)
    (tmp_path / "checkpoints").mkdir()
    ebb.save({"w": ebb.ones(2)}, str(tmp_path / "checkpoints" / "net-1234.pth"))
    assert hub.load_state_dict_from_url(url)["w"].tolist() == [1, 1]
    with pytest.raises(NotImplementedError, match=r"^download_url_to_file: nothing is downl"):
        hub.download_url_to_file(url, str(tmp_path / "absent"))


def test_what_libraries_ask_of_hub_is_there(tmp_path, monkeypatch):
    finder.install()
    try:
        from torch.hub import HASH_REGEX, _get_torch_home, urlparse

        assert HASH_REGEX.search("resnet18-5c106cde.pth").group(1) == "5c106cde"
        assert urlparse("https://host/a.pth").path == "/a.pth"
        monkeypatch.setenv("TORCH_HOME", str(tmp_path))
        assert _get_torch_home() == str(tmp_path)
    finally:
        finder.uninstall()
