"""Writes the Parquet files beside it with pyarrow, as another program's writer would: run it where pyarrow is installed."""
import pyarrow as pa
import pyarrow.parquet as pq

rows = 300
table = pa.table({
    "id": pa.array(range(rows), pa.int32()),
    "text": pa.array([f"text {i} é" for i in range(rows)], pa.large_string()),
    "hashes": pa.array([[i * 1000 + k for k in range(i % 50)] for i in range(rows)], pa.list_(pa.uint64())),
})
pq.write_table(table, "lists-across-pages.parquet", data_page_size=512, write_batch_size=16, row_group_size=200, compression="snappy")

# As pandas writes columns in which some numbers are missing, without the index of pages, in pages of version 2.
table = table.set_column(0, "id", table["id"].cast(pa.float64()))
pq.write_table(table, "pandas.parquet", data_page_size=2048, data_page_version="2.0", compression="zstd", use_dictionary=False)
