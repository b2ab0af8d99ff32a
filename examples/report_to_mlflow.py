"""Keeps the reports of `aiperf-exporter run --out FOLDER` in MLflow, one run for each target.

    MLFLOW_TRACKING_URI=http://mlflow:5000 python report_to_mlflow.py FOLDER [EXPERIMENT]

Figures have the names that AIPerf gives them there: request_latency is the mean, request_latency.p99 a percentile.
"""
import json
import pathlib
import sys

import mlflow


def leaves(value, name=""):
    """The values of nested objects and lists, by path."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from leaves(member, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from leaves(element, f"{name}.{index}")
    else:
        yield name, value


def figures(report):
    """Every figure: an object with a unit."""
    for tag, figure in report.items():
        if isinstance(figure, dict) and "unit" in figure:
            for statistic, value in figure.items():
                if statistic != "unit":
                    yield tag + ("" if statistic == "avg" else f".{statistic}"), value


def main(folder, experiment="aiperf-exporter"):
    mlflow.set_experiment(experiment)
    for path in sorted(pathlib.Path(folder).rglob("profile_export_aiperf.json")):
        report = json.loads(path.read_text(encoding="utf-8"))
        own = report["exporter"]
        with mlflow.start_run(run_name=f"{own['target']} {report['benchmark_id']}"):
            mlflow.set_tags({"target": own["target"], "benchmark_id": report["benchmark_id"], "version": report["generator"]["version"]})
            mlflow.log_params({name: str(value)[:500] for name, value in leaves(report["input_config"])})
            metrics = dict(figures(report)) | dict(figures(own["metrics"])) | dict(figures(own.get("server", {}).get("metrics", {})))
            metrics |= {f"slo.{slo['name']}.ratio": slo["ratio"] for slo in own["slos"]}
            mlflow.log_metrics(metrics)
            mlflow.log_artifacts(str(path.parent), "report")


if __name__ == "__main__":
    main(*sys.argv[1:])
