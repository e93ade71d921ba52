# satellites/torch/tests/test_versions.py -- torch.__version__, as programs compare it.
import pytest

from ebb.torch_compat import TORCH_VERSION
from ebb.torch_compat.torch_version import TorchVersion

ORDER = ["1.9", "1.10.0", "2.15.0.dev20", "2.15.0a0+git1", "2.15.0rc1", "2.15.0", "2.15.0+cpu",
         "2.15.0.post1", "2.15.1", "2.16", "3"]  # fmt: skip


@pytest.mark.parametrize("place", range(len(ORDER)))
def test_versions_are_ordered_by_their_numbers(place):
    version = TorchVersion(ORDER[place])
    for other_place, other in enumerate(ORDER):
        for one in (other, TorchVersion(other)):
            assert (version < one) == (place < other_place) == (one > version)
            assert (version <= one) == (place <= other_place) and (version != one) == (
                place != other_place
            )
            assert (version >= one) == (place >= other_place) and (version == one) == (
                place == other_place
            )


def test_versions_compare_with_numbers_and_stay_texts():
    version = TorchVersion("2.15.0")
    assert version >= (2, 9) and version < (2, 16) and version == (2, 15) and version > [1, 13, 1]
    assert version == "2.15" and version == "v2.15.0" and hash(version) == hash("2.15.0")
    assert version.split(".") == ["2", "15", "0"] and version.startswith("2.")
    assert (version < "parrot") == ("2.15.0" < "parrot") and version != "parrot"
    assert version != 2 and version not in (None, "x")


def test_the_version_that_is_served_is_one():
    assert isinstance(TORCH_VERSION, TorchVersion) and TORCH_VERSION > "2.9"
