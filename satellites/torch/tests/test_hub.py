# satellites/torch/tests/test_hub.py -- torch.hub without downloads: local folders, and what
# refuses.
import hashlib
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


def test_the_sum_of_a_file_is_compared_with_its_name(tmp_path):
    plain = tmp_path / "net.pth"
    ebb.save({"w": ebb.ones(2)}, str(plain))
    total = hashlib.sha256(plain.read_bytes()).hexdigest()
    url = "https://example.org/net-{}.pth"
    for start, fits in ((total[:8], True), ("0" * 8, False), (total, True)):
        named = tmp_path / os.path.basename(url.format(start))
        named.write_bytes(plain.read_bytes())
        arguments = {"url": url.format(start), "model_dir": str(tmp_path)}
        assert hub.load_state_dict_from_url(**arguments)["w"].tolist() == [1, 1]
        if fits:
            assert hub.load_state_dict_from_url(**arguments, check_hash=True)["w"].sum() == 2
            hub.download_url_to_file(arguments["url"], str(named), hash_prefix=start)
            continue
        text = "^{}: needs a file whose SHA-256 sum begins with 00000000, got"
        with pytest.raises(ValueError, match=text.format("load_state_dict_from_url")):
            hub.load_state_dict_from_url(**arguments, check_hash=True)
        with pytest.raises(ValueError, match=text.format("download_url_to_file")):
            hub.download_url_to_file(arguments["url"], str(named), hash_prefix=start)


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
