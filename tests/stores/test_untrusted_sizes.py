"""Sizes in the log of an untrusted table, on object stores as others run them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from real_servers import FOLDER, RealServer, versitygw

from lakebed.errors import DataFileError
from lakebed.spark.native.file_sizes import check_sizes
from lakebed.storage import Store, open_store

SCRIPT = Path(__file__).with_name("untrusted_application.py")


def check(store: Store, paths: list[str], sizes: list[int]) -> None:
    uris = [f"{store.url}/{path}" for path in paths]
    check_sizes(store, pa.chunked_array([paths]), uris, pa.chunked_array([sizes]))


@pytest.mark.parametrize("count", [3, 40])
def test_files_that_are_larger_than_the_log_says_are_found(
    real_server: RealServer, count: int
) -> None:
    options = {**real_server.storage_options, "untrusted": True}
    store = open_store(f"{real_server.new_bucket()}/a b/t", options)
    paths, sizes = [f"p={i % 7}/{i:03}.parquet" for i in range(count)], list(range(20, 20 + count))
    for path, size in zip(paths, sizes, strict=True):
        store.put(path, b"x" * size)
    check(store, [*paths, "gone"], [*sizes, 50])
    for wrong in (0, count - 1):
        found = list(sizes)
        found[wrong] -= 1
        with pytest.raises(DataFileError, match=f"{paths[wrong]}: .* but there are {sizes[wrong]}"):
            check(store, paths, found)


@pytest.mark.slow("a Spark of its own, with the classes of hadoop-aws")
def test_rows_are_not_left_out_by_spark_itself(
    java: None,  # noqa: ARG001
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with versitygw(tmp_path_factory.mktemp("gateway")) as gateway:
        ivy = FOLDER / "ivy"
        if not list(ivy.glob("jars/org.apache.hadoop_hadoop-aws-*.jar")):
            pytest.skip("hadoop-aws is not there: ./run test --stores downloads it (700 MB)")
        options = json.dumps(dict(gateway.storage_options))
        command = [sys.executable, str(SCRIPT), str(ivy), options, gateway.new_bucket()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.splitlines() == [
        "a right size",
        "a size that is too small, of a trusted table",
        "a size that is too small, of an untrusted table",
    ]
