"""One wheel for a platform and every CPython: nothing in it is built against an interpreter. See build.sh."""

import re
import sysconfig
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel


def platforms(names):
    """What the wheel may be installed on: by name, and on Linux also by the oldest glibc that has all that the files take from it."""
    plain = re.sub(r"[^a-z0-9_]", "_", sysconfig.get_platform().lower())
    files = [path.read_bytes() for path in names]
    if not plain.startswith("linux") or not files:
        return plain
    versions = {int(minor) for content in files for minor in re.findall(rb"\bGLIBC_2\.(\d+)", content)}
    return "manylinux_2_{}_{}.{}".format(max(versions, default=0), plain[len("linux_"):], plain)


class PlatformWheel(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        built = [path for path in Path("hutch").rglob("*") if path.suffix in (".so", ".dylib", ".dll") or path.parent.name == "bin"]
        if not any("hutch_capi" in path.name for path in built):
            raise SystemExit("there is no library in hutch/: build.sh puts it there")
        return "py3", "none", platforms(built)


setup(cmdclass={"bdist_wheel": PlatformWheel})
