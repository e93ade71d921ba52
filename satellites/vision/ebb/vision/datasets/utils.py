# satellites/vision/ebb/vision/datasets/utils.py -- files of data sets: which are there, and which
# are whole.
"""Hashes and archives; what would download refuses unless the file is there."""

from __future__ import annotations

import hashlib
import os
import tarfile
import zipfile
from typing import Any

from ebb import _C
from ebb.io.reading import check_unpacked, opened

__all__ = [
    "check_integrity", "check_md5", "download_and_extract_archive",
    "download_file_from_google_drive", "download_url", "extract_archive", "list_dir", "list_files",
    "verify_str_arg",
]  # fmt: skip


def check_md5(fpath: str, md5: str) -> bool:
    """Return whether a file's MD5 sum is this one.

    Example:
        >>> from pathlib import Path
        >>> from ebb.vision.datasets import utils
        >>> _ = Path("one.txt").write_text("one")
        >>> utils.check_md5("one.txt", "f97c5d29941bfb1b2fdab0874906ab82")
        True
    """
    with opened("check_md5", fpath) as file:
        return hashlib.file_digest(file, "md5").hexdigest() == md5


def check_integrity(fpath: str, md5: str | None = None) -> bool:
    """Return whether a file is there, and has this MD5 sum unless it is None.

    Example:
        >>> from pathlib import Path
        >>> from ebb.vision.datasets import utils
        >>> _ = Path("one.txt").write_text("one")
        >>> utils.check_integrity("one.txt"), utils.check_integrity("two.txt")
        (True, False)
    """
    return os.path.isfile(fpath) and (md5 is None or check_md5(fpath, md5))


def _there(call: str, root: str, filename: str, md5: str | None) -> None:
    path = os.path.join(root, filename)
    if not check_integrity(path, md5):
        problem = "another content" if os.path.isfile(path) else "no such file"
        raise _C.IoError(
            f"{call}: needs {path!r}, got {problem}\n"
            "hint: nothing is downloaded; put the file there"
        )


def download_url(
    url: str, root: str, filename: str | None = None, md5: str | None = None, **more: Any
) -> None:
    """Do nothing if the file is there.

    Raises:
        IoError: If it is not, or its MD5 sum is another.

    Example:
        >>> from pathlib import Path
        >>> from ebb.vision.datasets import utils
        >>> _ = Path("one.txt").write_text("one")
        >>> utils.download_url("https://example.org/one.txt", ".")
    """
    del more
    _there("download_url", root, filename or os.path.basename(url), md5)


def download_file_from_google_drive(
    file_id: str, root: str, filename: str | None = None, md5: str | None = None
) -> None:
    """Do as ``download_url``.

    Example:
        >>> from pathlib import Path
        >>> from ebb.vision.datasets import utils
        >>> _ = Path("one.txt").write_text("one")
        >>> utils.download_file_from_google_drive("anything", ".", "one.txt")
    """
    _there("download_file_from_google_drive", root, filename or file_id, md5)


def download_and_extract_archive(
    url: str,
    download_root: str,
    extract_root: str | None = None,
    filename: str | None = None,
    md5: str | None = None,
    remove_finished: bool = False,
) -> None:
    """Unpack an archive that is there.

    Raises:
        IoError: If it is not, or its MD5 sum is another.

    Example:
        >>> import shutil
        >>> from pathlib import Path
        >>> from ebb.vision.datasets import utils
        >>> Path("pets").mkdir(exist_ok=True)
        >>> _ = Path("pets/cat.txt").write_text("meow")
        >>> archive = shutil.make_archive("pets", "zip", "pets")
        >>> utils.download_and_extract_archive("https://example.org/pets.zip", ".", "unpacked")
        >>> utils.list_files("unpacked", ".txt")
        ['cat.txt']
    """
    name = filename or os.path.basename(url)
    _there("download_and_extract_archive", download_root, name, md5)
    extract_archive(os.path.join(download_root, name), extract_root, remove_finished)


def extract_archive(
    from_path: str, to_path: str | None = None, remove_finished: bool = False
) -> str:
    """Unpack a ``.zip`` or ``.tar`` (also packed), beside itself if no folder is given.

    Raises:
        ValueError: If it is of another kind, a part would lie outside the folder, or all take
            more than 256 MiB and a hundred times the archive.

    Example:
        >>> import shutil
        >>> from pathlib import Path
        >>> from ebb.vision.datasets import utils
        >>> Path("birds").mkdir(exist_ok=True)
        >>> _ = Path("birds/owl.txt").write_text("hoot")
        >>> archive = shutil.make_archive("birds", "gztar", "birds")
        >>> utils.list_files(utils.extract_archive(archive, "flown"), ".txt")
        ['owl.txt']
    """
    target = to_path or os.path.dirname(from_path)
    size = os.path.getsize(from_path)
    if zipfile.is_zipfile(from_path):
        with zipfile.ZipFile(from_path) as packed:
            unpacked = sum(one.file_size for one in packed.infolist())
            check_unpacked("extract_archive", from_path, size, unpacked)
            packed.extractall(target)  # parts stay inside the folder
    elif tarfile.is_tarfile(from_path):
        with tarfile.open(from_path) as packed:
            members, unpacked = [], 0
            for one in packed:  # to list all of them unpacks all of them
                members.append(_inside(one, target))
                unpacked += one.size
                check_unpacked("extract_archive", from_path, size, unpacked)
            packed.extractall(target, members)
    else:
        raise _C.ValueError(f"extract_archive: needs a .zip or .tar, got {from_path!r}")
    if remove_finished:
        os.remove(from_path)
    return target


def _inside(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo:
    """Return a part of an archive that is a file or folder within ``folder``."""
    root = os.path.realpath(folder)
    path = os.path.realpath(os.path.join(root, member.name))
    if not (member.isfile() or member.isdir()) or os.path.commonpath([root, path]) != root:
        raise _C.ValueError(
            "extract_archive: needs files and folders inside the archive's folder, got "
            f"{member.name!r}"
        )
    return member


def list_dir(root: str, prefix: bool = False) -> list[str]:
    """Return the names of the folders in a folder; their paths with ``prefix``.

    Example:
        >>> from pathlib import Path
        >>> from ebb.vision.datasets import utils
        >>> Path("animals/cat").mkdir(parents=True)
        >>> utils.list_dir("animals")
        ['cat']
        >>> utils.list_dir("animals", prefix=True)
        ['animals/cat']
    """
    names = [name for name in sorted(os.listdir(root)) if os.path.isdir(os.path.join(root, name))]
    return [os.path.join(root, name) for name in names] if prefix else names


def list_files(root: str, suffix: str, prefix: bool = False) -> list[str]:
    """Return the names of the files in a folder that end so; their paths with ``prefix``.

    Example:
        >>> from pathlib import Path
        >>> from ebb.vision.datasets import utils
        >>> Path("texts").mkdir()
        >>> _ = Path("texts/one.txt").write_text("one")
        >>> utils.list_files("texts", ".txt")
        ['one.txt']
    """
    names = [
        name for name in sorted(os.listdir(root))
        if name.endswith(suffix) and os.path.isfile(os.path.join(root, name))
    ]  # fmt: skip
    return [os.path.join(root, name) for name in names] if prefix else names


def verify_str_arg(
    value: Any, arg: str | None = None, valid_values: Any = None, custom_msg: str | None = None
) -> Any:
    """Return a text that is one of some.

    Raises:
        DTypeError: If it is no text.
        ValueError: If it is another.

    Example:
        >>> from ebb.vision.datasets import utils
        >>> utils.verify_str_arg("train", "split", ("train", "test"))
        'train'
        >>> utils.verify_str_arg("all", "split", ("train", "test"))
        Traceback (most recent call last):
            ...
        ebb.errors.ValueError: verify_str_arg: needs 'split' of ['train', 'test'], got 'all'
    """
    if not isinstance(value, str):
        raise _C.DTypeError(f"verify_str_arg: needs a text for {arg!r}, got {value!r}")
    if valid_values is not None and value not in valid_values:
        raise _C.ValueError(
            custom_msg or f"verify_str_arg: needs {arg!r} of {list(valid_values)}, got {value!r}"
        )
    return value
