"""Writes a Hugging Face data set as files that `nvdp train --task tsv --data FOLDER` reads: train.jsonl, dev.jsonl and,
where there is one, test.jsonl, an object a row with the columns that are asked for; classes by their names.

    python scripts/from_datasets.py imdb --columns text,label --out imdb
    python scripts/from_datasets.py nyu-mll/glue --config rte --columns sentence1,sentence2,label --out rte
    nvdp train --task tsv --data imdb --text-column text --label-column label --model bert --out run

NAME is what datasets.load_dataset takes, a name on the hub or a folder on this machine, or a file: .parquet, .csv or
.jsonl. Where there is no validation split, the last tenth of the shuffled train split becomes dev.
"""

import argparse
import json
from pathlib import Path


def rows(split, columns):
    """The rows as dicts; a class is its name, -1 (hidden) no label at all."""
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
    parser.add_argument("--config", help="of a data set that has several")
    parser.add_argument("--columns", required=True, help="with commas between them: texts, label, id")
    parser.add_argument("--out", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=1, help="of the shuffle where dev is a part of train")
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
