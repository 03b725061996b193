"""Checks that common libraries read the same samples from HDF5, safetensors and Parquet.

check_formats.py FOLDER PART: FOLDER has NAME.h5, NAME.safetensors and NAME.parquet.  The exit status is 77 if a module is missing.
"""
import sys
from pathlib import Path

try:
    import h5py
    import numpy as np

    if sys.argv[2] == "safetensors":
        from safetensors import safe_open
    else:
        import pyarrow.parquet as pq
except ImportError as error:
    print(error)
    sys.exit(77)


def attributes(of):
    return {k: v.decode() if isinstance(v, bytes) else v for k, v in of.attrs.items()}


def words_are_the_same(found, attrs):
    assert set(found) == set(attrs), set(found) ^ set(attrs)
    for key, value in attrs.items():
        if isinstance(value, str):
            same = found[key] == value or (key == "created" and len(value) == len(found[key]))
        else:
            same = float(found[key]) == value or (np.isnan(value) and found[key] == "nan")
        assert same, (key, value, found[key])
    assert "random sample" in found["statement"]


def samples(f, attrs):
    """Returns the values as float64, packed, and the first row of every sample."""
    z = f["z"][...].astype(np.float64) * attrs.get("z_step", 1)
    log_pi = f["log_pi"][...].astype(np.float64) * attrs.get("log_pi_step", 1) if "log_pi" in f else None
    if "offset" in f:
        return z, log_pi, f["offset"][...]
    n, s, m, p = z.shape
    return z.reshape(-1, p), None if log_pi is None else log_pi.reshape(-1), np.arange(n * s + 1) * m


def check_safetensors(name, f, attrs):
    z, log_pi, offset = samples(f, attrs)
    with safe_open(str(name) + ".safetensors", "np") as g:
        words_are_the_same(g.metadata(), attrs)
        extra = {k for k in f if k in ("id", "split", "label")}
        assert set(g.keys()) == {"z", "offset"} | extra | ({"log_pi"} if log_pi is not None else set())
        assert g.get_tensor("z").dtype == f["z"].dtype
        assert (g.get_tensor("z").astype(np.float64) * attrs.get("z_step", 1) == z).all()
        if log_pi is not None:
            assert (g.get_tensor("log_pi").astype(np.float64) * attrs.get("log_pi_step", 1) == log_pi).all()
        assert (g.get_tensor("offset") == offset).all()
        for key in extra:
            assert np.array_equal(g.get_tensor(key), f[key][...], equal_nan=key == "label"), key


def check_parquet(name, f, attrs):
    z, log_pi, offset = samples(f, attrs)
    file = pq.ParquetFile(str(name) + ".parquet")
    words_are_the_same({k.decode(): v.decode() for k, v in file.metadata.metadata.items() if k != b"ARROW:schema"}, attrs)
    table = file.read()
    assert table.num_rows == len(z)
    assert (np.stack(table["z"].to_numpy()) == z.astype(np.float32)).all()
    sample = np.repeat(np.arange(len(offset) - 1), np.diff(offset))
    count = attrs["releases"]
    text = sample // count
    assert (table["text"].to_numpy() == text).all()
    assert (table["sample"].to_numpy() == sample % count).all()
    assert (table["row"].to_numpy() == np.arange(len(z)) - offset[sample]).all()
    assert ("pi" in table.column_names) == (log_pi is not None)
    if log_pi is not None:
        assert np.allclose(table["pi"].to_numpy(), np.exp(log_pi), rtol=1e-15, atol=0)
    for key in ("id", "split", "label"):
        assert (key in table.column_names) == (key in f), key
        if key in f:
            assert np.array_equal(table[key].to_numpy(), f[key][...][text], equal_nan=key == "label"), key
    try:
        import pandas as pd
    except ImportError:
        return
    frame = pd.read_parquet(str(name) + ".parquet")
    assert len(frame) == len(z) and len(frame["z"][0]) == z.shape[1]


count = 0
for path in sorted(Path(sys.argv[1]).glob("*.h5")):
    with h5py.File(path) as f:
        (check_safetensors if sys.argv[2] == "safetensors" else check_parquet)(path.with_suffix(""), f, attributes(f))
    count += 1
assert count > 0
print(count, "files")
