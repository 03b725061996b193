"""The behaviour of nvdp.TrainingOptions; its fields are in training_options.py, which the build writes (generate.py)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from ._lib import Context, NvdpValueError, lib


def _row(**known: Any) -> Any:
    """Returns the field of an option, whose metadata is its default as text, unit, minimum and maximum."""
    told = {"default_value": None, "unit": None, "min": 0.0, "max": 0.0}
    return dataclasses.field(default=None, metadata={**told, **known})


class Options:
    """Options by name: a mapping of those that are set, for `**options`."""

    def __post_init__(self) -> None:
        context = Context()
        config = context.config("train", {})
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = self[field.name]
            if value is not None:
                if bool in getattr(field.type, "__args__", ()) and not isinstance(value, bool):
                    raise NvdpValueError(f"option {field.name}: expected True or False, found {value!r}")
                context._set(config, {field.name: value})

    def keys(self) -> list[str]:
        """Returns the names of the options that are set."""
        return [field.name for field in dataclasses.fields(self) if self[field.name] is not None]  # type: ignore[arg-type]

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def __repr__(self) -> str:
        return f"nvdp.TrainingOptions({', '.join(f'{name}={self[name]!r}' for name in self)})"
