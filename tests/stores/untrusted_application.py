"""Spark with Hadoop's connector for S3, which reads tables whose log has wrong sizes.

    python untrusted_application.py <folder of Ivy> <options as JSON> <bucket>

Prints the name of each step that holds.
"""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed
from lakebed.errors import DataFileError
from lakebed.log.listing.log_names import commit_path
from lakebed.settings.setting_table import DATA_PLANE, UNTRUSTED
from lakebed.storage import open_store

ROWS = 100


def main(ivy: str, text: str, bucket: str) -> None:
    options: dict[str, str] = json.loads(text)
    spark = lakebed.session(
        "untrusted",
        master="local[2]",
        stores=["s3"],
        spark_ui_enabled=False,
        spark_driver_host="127.0.0.1",
        spark_jars_ivy=ivy,
        spark_sql_shuffle_partitions=2,
    )
    spark.sparkContext.setLogLevel("ERROR")
    spark.conf.set(DATA_PLANE.name, "native")
    url = f"{bucket}/t"
    store = open_store(url, options)
    file = io.BytesIO()
    pq.write_table(pa.table({"n": range(ROWS)}), file, row_group_size=ROWS // 10)
    store.put("ten-groups.parquet", file.getvalue())
    lakebed.write(url, pa.table({"n": pa.array([], pa.int64())}), storage_options=options)

    def claim(version: int, size: int) -> None:
        add = {
            **{"path": "ten-groups.parquet", "partitionValues": {}, "size": size},
            **{"modificationTime": 0, "dataChange": True},
        }
        store.put(commit_path(version), json.dumps({"add": add}).encode())

    def rows(**more: Any) -> list[int]:
        reader = spark.read.format("delta").options(**options, **more)
        return sorted(row.n for row in reader.load(url).collect())

    size = len(file.getvalue())
    claim(1, size)
    assert rows(untrusted="true") == rows() == list(range(ROWS))
    print("a right size")
    half = pq.read_metadata(file).row_group(5).column(0).data_page_offset
    claim(2, half)
    assert 0 < len(rows()) < ROWS
    print("a size that is too small, of a trusted table")
    with pytest.raises(DataFileError, match=f"{half} bytes, but there are {size}"):
        rows(untrusted="true")
    spark.conf.set(UNTRUSTED.name, "true")
    with pytest.raises(DataFileError, match=f"{half} bytes, but there are {size}"):
        rows()
    print("a size that is too small, of an untrusted table")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
