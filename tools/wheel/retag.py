# tools/wheel/retag.py -- gives a wheel the platform tag that platform_tag.py found.
#
# A wheel says its tag in its name, in WHEEL, and in RECORD by the hash of WHEEL. All are written
# again, compressed as far as deflate goes.
"""Usage: retag.py WHEEL PLATFORM   for example retag.py x.whl manylinux_2_35_x86_64"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
import zipfile
from pathlib import Path


def record_of(name: str, content: bytes) -> str:
    """Return the line of RECORD for a file."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}"


def retag(wheel: Path, platform: str) -> Path:
    """Write the wheel again for a platform, remove the old one and return the new one."""
    python, abi, old = wheel.stem.split("-")[-3:]
    made = wheel.with_name(wheel.name.replace(f"-{old}.whl", f"-{platform}.whl"))
    if made == wheel:
        return wheel
    options = {"compression": zipfile.ZIP_DEFLATED, "compresslevel": 9}
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(made, "w", **options) as target:
        content = {one.filename: source.read(one) for one in source.infolist()}
        (about,) = (name for name in content if name.endswith(".dist-info/WHEEL"))
        (record,) = (name for name in content if name.endswith(".dist-info/RECORD"))
        text = re.sub(r"(?m)^Tag: .*$", f"Tag: {python}-{abi}-{platform}", content[about].decode())
        content[about] = text.encode()
        line = re.compile(rf"(?m)^{re.escape(about)},.*$")
        content[record] = line.sub(
            record_of(about, content[about]), content[record].decode()
        ).encode()
        for entry in source.infolist():
            entry.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(entry, content[entry.filename], compresslevel=9)
    wheel.unlink()
    return made


if __name__ == "__main__":
    retag(Path(sys.argv[1]), sys.argv[2])
