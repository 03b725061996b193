"""The options of training as a dataclass, made of the option table of the library when it is first used."""

from __future__ import annotations

import dataclasses
import keyword
from collections.abc import Iterator
from typing import Any, Optional, Union

from ._lib import Context, NvdpValueError, lib, record

_TYPES = {"flag": bool, "integer": int, "seed": int, "real": Union[float, str], "choice": str, "text": str}


class _Options:
    """Options of train(): nvdp.train(texts, labels, model=..., out=..., **options). None leaves an option to the preset or its default.

    An unknown name, a wrong type or a value out of its range is refused at once. help(nvdp.TrainingOptions) lists names and types;
    the metadata of a field has its help text, default, unit, minimum and maximum.
    """

    def __post_init__(self) -> None:
        context = Context()
        config = context.config(lib.nvdp_train_config_create, {})
        for name in self.keys():
            kind, value = _fields[name], self[name]
            if kind is bool and not isinstance(value, bool):
                raise NvdpValueError(f"option {name}: expected True or False, found {value!r}")
            context._set(config, {name: value})

    def keys(self) -> list[str]:
        """Returns the names of the options that are set."""
        return [name for name in _fields if getattr(self, name) is not None]

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __repr__(self) -> str:
        return f"nvdp.TrainingOptions({', '.join(f'{name}={self[name]!r}' for name in self)})"


_fields: dict[str, Any] = {}


def _make() -> type:
    context = Context()
    config = context.config(lib.nvdp_train_config_create, {})
    fields: list[Any] = []
    for i in range(lib.nvdp_config_count(config)):
        row = record(lib.nvdp_config_option(config, i)[0])
        name = row.name.replace("-", "_")
        if not keyword.iskeyword(name):
            _fields[name] = _TYPES[row.type]
            told = {key: row[key] for key in ("help", "default_value", "unit", "min", "max")}
            fields.append((name, Optional[_TYPES[row.type]], dataclasses.field(default=None, metadata=told)))
    made = dataclasses.make_dataclass("TrainingOptions", fields, bases=(_Options,), repr=False, frozen=True)
    made.__doc__, made.__module__ = _Options.__doc__, "nvdp"
    return made


TrainingOptions: Any = _make()
