"""Releases a table of texts with Dask workers, then checks all shards as one release. Needs dask[dataframe] and distributed.

usage: 06_dask_release.py RUN TEXTS.parquet FOLDER [SCHEDULER]      TEXTS has a column `text`
SCHEDULER is the address of a cluster, whose workers reach the three paths; without it, two workers start here. A partition whose
worker dies is counted again, at most once. With Ray Data, read_parquet(TEXTS).map_batches(release, batch_size=10_000) does the same, if
release_function(..., row=COLUMN) has a column that names each row.
"""

from __future__ import annotations

import sys

import dask.dataframe
from distributed import Client, LocalCluster

import nvdp


def main(run: str, texts: str, folder: str, scheduler: str | None = None) -> int:
    release = nvdp.release_function(run, folder, threads=1, budget_samples=2)
    with Client(scheduler or LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)):
        frame = dask.dataframe.read_parquet(texts, columns=["text"])
        done = frame.map_partitions(release, meta=release.meta).compute()
    print(f"{done.texts.sum()} texts in {len(done)} files, at most {done.samples.max()} samples of a text")
    found = release.verify()
    print(found.statement)
    return 0 if found.holds else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
