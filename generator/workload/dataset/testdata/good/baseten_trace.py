"""Writes the trace beside it with pyarrow: run it where pyarrow is installed."""
import pyarrow as pa
import pyarrow.parquet as pq

rows = range(40)
table = pa.table({
    "timestamp_start_unix_ms": pa.array([1_700_000_000_000 + 1000 * i for i in rows], pa.int64()),
    "prompt": pa.array([f"prompt {i} é" for i in rows], pa.string()),
    "input_tokens": pa.array(rows, pa.int32()),
    "output_tokens": pa.array(rows, pa.uint16()),
    "provided_session_id": pa.array([f"s{i % 7}" for i in rows], pa.dictionary(pa.int32(), pa.string())),
    "duration_e2e_ms": pa.array([1100.0 if i % 2 else None for i in rows], pa.float64()),
    "total_hashes": pa.array([list(range(1, i + 1)) if i % 3 else None for i in rows], pa.list_(pa.int64())),
    "block_size": pa.array([64] * 40, pa.int8()),
})
pq.write_table(table, "baseten_trace.parquet", row_group_size=16, compression="zstd")
