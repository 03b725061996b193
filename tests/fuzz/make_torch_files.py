#!/usr/bin/env python3
"""Writes the corpus of fuzz_torch_file, which tests/encoder/test_weights.c reads too: make_torch_files.py FOLDER.  Needs torch."""
import io
import os
import struct
import sys
import zipfile

import torch

FOLDER = sys.argv[1]


def write(name, content):
    with open(os.path.join(FOLDER, name), "wb") as out:
        out.write(content)


def saved(value, **options):
    out = io.BytesIO()
    torch.save(value, out, **options)
    return out.getvalue()


def archive(pickle, method=zipfile.ZIP_STORED, entries=(("data/0", struct.pack("<4f", 1, 2, 3, 4)),)):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as made:
        for name, content in (("data.pkl", pickle), ("byteorder", b"little"), *entries, ("version", b"3\n")):
            made.writestr(zipfile.ZipInfo("archive/" + name), content, method)
    return out.getvalue()


def text(word):
    return b"X" + struct.pack("<I", len(word)) + word


def storage(kind=b"FloatStorage", key=b"0", count=b"K\4"):
    return b"(" + text(b"storage") + b"ctorch\n" + kind + b"\n" + text(key) + text(b"cpu") + count + b"tQ"


def tensor(from_=None, at=b"K\0", shape=b"K\2K\2\x86", stride=b"K\2K\1\x86"):
    return (b"ctorch._utils\n_rebuild_tensor_v2\n(" + (from_ or storage()) + at + shape + stride +
            b"\x89ccollections\nOrderedDict\n)RtR")


def state(*items):
    return b"\x80\2ccollections\nOrderedDict\n)R(" + b"".join(items) + b"u."


x = torch.arange(12, dtype=torch.float32).reshape(3, 4)
linear = torch.nn.Linear(2, 3)
torch.nn.init.ones_(linear.weight)
torch.nn.init.zeros_(linear.bias)
write("values", saved({"dense": x, "turned": x.t(), "part": x[1:, 2], "parameter": torch.nn.Parameter(x[0] / 2),
                       "positions": torch.arange(5).expand(1, -1), "half": x.half(), "bfloat": x.bfloat16(),
                       "double": x.double(), "empty": x[:0], "scalar": x[2, 3], "repeated": x[0, 1].expand(2, 3)}))
write("module", saved(linear.state_dict()))
write("legacy", saved(linear.state_dict(), _use_new_zipfile_serialization=False))
write("whole_module", saved(linear))
write("training", saved({"model": linear.state_dict(), "epoch": 3}))
good = state(text(b"w"), tensor())
write("made", archive(good))
write("compressed", archive(good, zipfile.ZIP_DEFLATED))
write("big_endian", archive(good, entries=(("data/0", bytes(16)),)).replace(b"little", b"big   "))
write("system", archive(b"\x80\2cos\nsystem\n" + text(b"touch /tmp/nvdp-was-here") + b"\x85R."))
write("eval", archive(b"\x80\2cbuiltins\neval\n" + text(b"1") + b"\x85R."))
write("stack_global", archive(b"\x80\4\x8c\2os\x8c\6system\x93."))
write("inside_state", archive(state(text(b"w"), b"cposix\nsystem\n" + text(b"true") + b"\x85R")))
write("instance", archive(b"\x80\2(ios\nsystem\n."))
write("build_setstate", archive(state(text(b"w"), tensor())[:-1] + tensor() + b"b."))
write("huge_storage", archive(state(text(b"w"), tensor(storage(count=b"\x8a\x08" + b"\xff" * 7 + b"\x7f")))))
write("huge_shape", archive(state(text(b"w"), tensor(shape=b"J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86"))))
write("wrapping_stride", archive(state(text(b"w"), tensor(stride=b"\x8a\x08" + b"\xff" * 7 + b"\x7fK\1\x86"))))
write("negative_shape", archive(state(text(b"w"), tensor(shape=b"J\xff\xff\xff\xffK\1\x86"))))
write("negative_start", archive(state(text(b"w"), tensor(at=b"J\xff\xff\xff\xff"))))
write("beyond_storage", archive(state(text(b"w"), tensor(at=b"K\1"))))
write("no_storage", archive(state(text(b"w"), tensor(storage(key=b"../../etc/passwd")))))
write("wrong_size", archive(state(text(b"w"), tensor(storage(kind=b"DoubleStorage")))))
write("other_storage", archive(state(text(b"w"), tensor(storage(kind=b"ComplexFloatStorage")))))
write("loop", archive(b"\x80\2}q\0(" + text(b"w") + b"h\0u."))
write("memo_ahead", archive(b"\x80\2}r\xff\xff\xff\x7f."))
write("memo_unknown", archive(b"\x80\2h\7."))
write("long_text", archive(b"\x80\2X\xff\xff\xff\xff."))
write("twice", archive(state(text(b"w"), tensor(), text(b"w"), tensor())))
write("nul_in_name", archive(state(text(b"w\0x"), tensor())))
write("number_as_key", archive(state(b"K\1", tensor())))
write("empty_stack", archive(b"\x80\2."))
write("two_values", archive(b"\x80\2}}."))
write("no_stop", archive(b"\x80\2}"))
write("underflow", archive(b"\x80\2tsubR."))
write("two_pickles", archive(good, entries=(("data/0", bytes(16)), ("0123456", good))).replace(b"archive/0123456", b"other0/data.pkl"))
write("no_pickle", archive(good).replace(b"data.pkl", b"data.pkx"))
write("cut", archive(good)[:-30])
write("entry_beyond", archive(good).replace(struct.pack("<II", 16, 16), struct.pack("<II", 1 << 30, 1 << 30)))
wide = archive(good)  # its directory in the form of zip64
end = wide.rindex(b"PK\5\6")
_, count, size, offset, _ = struct.unpack("<HHIIH", wide[end + 8:end + 22])
write("zip64", wide[:end] + b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, count, count, size, offset) +
      b"PK\6\7" + struct.pack("<IQI", 0, end, 1) +
      b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 65535, 65535, 0xffffffff, 0xffffffff, 0))
