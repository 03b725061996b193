#!/usr/bin/env python3
"""sbom.py WHEEL [OUT]: writes a CycloneDX list of what is in a wheel of `make wheel`, and of the packages that it requires: OUT, by default
the wheel's name with .cdx.json. Needs cyclonedx-python-lib[validation]. The same wheel gives the same list, to the byte.

The libraries are read from the wheel: their files, and BUNDLED.txt, which names the package of each. A library without a line there is an error.
"""

import email.parser
import hashlib
import re
import sys
import uuid
import zipfile
from datetime import datetime, timezone
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

LINE = re.compile(r"(?P<library>\S+): (?P<package>\S+) (?P<version>[^ ,]+), source package (?P<source>\S+) (?P<of>[^ ,]+)")


def digest(content: bytes) -> HashType:
    return HashType(alg=HashAlgorithm.SHA_256, content=hashlib.sha256(content).hexdigest())


def only(names: list[str], ending: str) -> str:
    found = [name for name in names if name.endswith(ending)]
    if len(found) != 1:
        sys.exit(f"sbom.py: expected one file {ending} in the wheel, found {len(found)}: `make wheel` writes such a wheel")
    return found[0]


def libraries(wheel: zipfile.ZipFile) -> list[Component]:
    """Returns a component per library: linked into libnvdp.so, or a file of nvdp.libs."""
    names = wheel.namelist()
    files = {Path(name).name: name for name in names if "nvdp.libs/" in name and not name.endswith("/")}
    made = []
    for line in wheel.read(only(names, "licenses/bundled/BUNDLED.txt")).decode().splitlines():
        found = LINE.match(line)
        if found is None:
            continue
        stem = found["library"].partition(".so")[0]
        file = next((name for name in sorted(files) if name.startswith((f"{stem}-", f"{stem}.so"))), None) if ".so" in found["library"] else None
        if ".so" in found["library"] and file is None:
            sys.exit(f"sbom.py: BUNDLED.txt has {found['library']}, which is not in nvdp.libs")
        purl = PackageURL("deb", "debian", found["package"], found["version"])
        properties = [Property(name="nvdp:file", value=files[file] if file else "nvdp/libnvdp.so"),
                      Property(name="nvdp:source-package", value=f"{found['source']} {found['of']}")]  # fmt: skip
        made.append(Component(name=found["package"], version=found["version"], type=ComponentType.LIBRARY, purl=purl, bom_ref=f"{found['library']}",
                              hashes=[digest(wheel.read(files.pop(file)))] if file else None, properties=properties))  # fmt: skip
    if files:
        sys.exit(f"sbom.py: nvdp.libs has {', '.join(sorted(files))}, which BUNDLED.txt does not explain")
    return made


def main(path: Path, out: Path) -> None:
    content = path.read_bytes()
    with zipfile.ZipFile(path) as wheel:
        about = email.parser.Parser().parsestr(wheel.read(only(wheel.namelist(), ".dist-info/METADATA")).decode())
        when = datetime(*max(info.date_time for info in wheel.infolist()), tzinfo=timezone.utc)
        found = libraries(wheel)
    package = Component(name=about["Name"], version=about["Version"], type=ComponentType.LIBRARY, bom_ref="nvdp", hashes=[digest(content)],
                        licenses=[LicenseExpression(about["License-Expression"] or "GPL-3.0-or-later")],
                        purl=PackageURL("pypi", None, about["Name"], about["Version"]))  # fmt: skip
    for required in about.get_all("Requires-Dist") or []:
        name = re.match(r"[\w.-]+", required)
        if name and "extra ==" not in required:
            found.append(Component(name=name[0], type=ComponentType.LIBRARY, bom_ref=f"requires {name[0]}", purl=PackageURL("pypi", None, name[0]),
                                   properties=[Property(name="nvdp:requirement", value=required)]))  # fmt: skip
    bom = Bom(components=found, metadata=BomMetaData(component=package, timestamp=when),
              serial_number=uuid.uuid5(uuid.NAMESPACE_URL, hashlib.sha256(content).hexdigest()))  # fmt: skip
    bom.register_dependency(package, found)
    text = JsonV1Dot6(bom).output_as_string(indent=2)
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if wrong is not None:
        sys.exit(f"sbom.py: the list is not valid CycloneDX: {wrong}")
    out.write_text(text + "\n", "utf-8")
    print(f"{out}: {len(found)} components")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: sbom.py WHEEL [OUT]")
    main(Path(sys.argv[1]), Path(sys.argv[-1]) if len(sys.argv) == 3 else Path(sys.argv[1]).with_suffix(".cdx.json"))
