"""The Python example of README.md runs as it stands, on fewer generated texts."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(os.environ.get("NVDP_SOURCE", Path(__file__).parents[2])).resolve()
DEMO = Path(os.environ["NVDP_LIBRARY"]).with_name("nvdp-demo")


@pytest.mark.skipif(not DEMO.exists(), reason="the generator of texts is not built")
def test_example(tmp_path):
    found = re.findall(r"^```python\n(.*?)^```", (SOURCE / "README.md").read_text("utf-8"), re.S | re.M)
    assert len(found) == 1 and len(found[0].splitlines()) == 5, f"expected one example of 5 lines, found {found}"
    (tmp_path / "models").symlink_to(SOURCE / "models")
    subprocess.run([DEMO, "data", "data", "1", "120"], cwd=tmp_path, check=True, capture_output=True)
    printed = subprocess.run([sys.executable, "-c", found[0]], cwd=tmp_path, capture_output=True, text=True)
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.startswith("Proven: epsilon 16 at delta 1e-05"), printed.stdout
    assert (tmp_path / "one.h5").exists()
