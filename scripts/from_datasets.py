"""Writes a Hugging Face data set as files for `nvdp train --task tsv --data FOLDER`: train.jsonl, dev.jsonl and, if the data set
has a test split, test.jsonl. A row is an object with the selected columns; classes are written by name.

    python scripts/from_datasets.py imdb --columns text,label --out imdb
    python scripts/from_datasets.py nyu-mll/glue --config rte --columns sentence1,sentence2,label --out rte
    nvdp train --task tsv --data imdb --text-column text --label-column label --model bert --out run

NAME is an argument of datasets.load_dataset (a name on the hub or a local directory), or a file: .parquet, .csv or .jsonl.
Without a validation split, dev is a tenth of the shuffled train split.
"""

import argparse
import json
from pathlib import Path


def rows(split, columns):
    """Yields the rows as dicts, with class names; the hidden class -1 has no label."""
    names = {c: getattr(split.features[c], "names", None) for c in columns}
    for row in split:
        made = {}
        for column in columns:
            value = row[column]
            if names[column] is not None:
                value = names[column][value] if value >= 0 else None
            if value is not None:
                made[column] = value
        yield made


def write(split, columns, path):
    with path.open("w", encoding="utf-8") as to:
        for row in rows(split, columns):
            to.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{path}: {len(split)} rows")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--config", help="configuration of a data set with several")
    parser.add_argument("--columns", required=True, help="comma-separated columns: texts, label, id")
    parser.add_argument("--out", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=1, help="seed of the shuffle, if dev is a part of train")
    arguments = parser.parse_args()

    from datasets import load_dataset

    kinds = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json"}
    kind = kinds.get(Path(arguments.name).suffix)
    if kind and Path(arguments.name).is_file():
        data = load_dataset(kind, data_files={"train": arguments.name})
    else:
        data = load_dataset(arguments.name, arguments.config)
    columns = arguments.columns.split(",")
    lacking = [c for c in columns if c not in data["train"].column_names]
    if lacking:
        parser.error(f"{arguments.name}: no column {lacking[0]}: it has {', '.join(data['train'].column_names)}")
    splits = {"train": data["train"], "test": data.get("test")}
    splits["dev"] = data.get("validation", data.get("dev", data.get("validation_matched")))
    if splits["dev"] is None:
        parts = splits["train"].train_test_split(test_size=0.1, seed=arguments.seed)
        splits["train"], splits["dev"] = parts["train"], parts["test"]
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, split in splits.items():
        if split is not None:
            write(split, columns, arguments.out / f"{name}.jsonl")


if __name__ == "__main__":
    main()
