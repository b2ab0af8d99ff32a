"""Keeps the reports of `aiperf-exporter run --out FOLDER` in Weights & Biases, one run for each target.

    WANDB_API_KEY=… python report_to_wandb.py FOLDER [PROJECT]

With WANDB_MODE=offline the runs lie in ./wandb, and `wandb sync` sends them later.
"""
import json
import pathlib
import sys

import wandb


def figures(report):
    """Every figure: an object with a unit."""
    for tag, figure in report.items():
        if isinstance(figure, dict) and "unit" in figure:
            for statistic, value in figure.items():
                if statistic != "unit":
                    yield tag + ("" if statistic == "avg" else f".{statistic}"), value


def main(folder, project="aiperf-exporter"):
    for path in sorted(pathlib.Path(folder).rglob("profile_export_aiperf.json")):
        report = json.loads(path.read_text(encoding="utf-8"))
        own = report["exporter"]
        name = f"{own['target']}-{report['benchmark_id']}"
        with wandb.init(project=project, name=name, group=own["target"], config=report["input_config"]) as run:
            run.summary.update(dict(figures(report)))
            run.summary.update(dict(figures(own["metrics"])))
            run.summary.update(dict(figures(own.get("server", {}).get("metrics", {}))))
            run.summary.update({f"slo.{slo['name']}.ratio": slo["ratio"] for slo in own["slos"]})
            files = wandb.Artifact(name, type="report")
            files.add_dir(str(path.parent))
            run.log_artifact(files)


if __name__ == "__main__":
    main(*sys.argv[1:])
