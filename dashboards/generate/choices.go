package main

import "github.com/aiperf-exporter/aiperf-exporter/dashboards/board"

// Choices at the top of pages, in the order in which they depend on each other.

func job() board.Variable {
	return board.Variable{
		Name: "job", Label: "Job", Help: "Scrape job of the exporters.", Query: "label_values(aiperf_exporter_build_info, job)",
	}
}

func targets() board.Variable {
	return board.Variable{
		Name: "target", Label: "Target", Help: "Name of the target in the exporter's configuration.",
		Query: `label_values(aiperf_target_info{job=~"$job"}, target)`,
	}
}

// oneTarget is for pages about a single one.
func oneTarget() board.Variable {
	v := targets()
	v.One = true
	return v
}

func models() board.Variable {
	return board.Variable{
		Name: "model", Label: "Model", Help: "Model that the target asks for.",
		Query: `label_values(aiperf_target_info{job=~"$job",target=~"$target"}, model)`,
	}
}

func workloads() board.Variable {
	return board.Variable{
		Name: "workload", Label: "Workload", Help: "What is asked.",
		Query: `label_values(aiperf_target_info{job=~"$job",target=~"$target",model=~"$model"}, workload)`,
	}
}

func slos() board.Variable {
	return board.Variable{
		Name: "slo", Label: "SLO", Help: "Objective of the target.",
		Query: `label_values(aiperf_slo_objective_ratio{job=~"$job",target=~"$target"}, slo)`,
	}
}

// window is the time over which requests are put together.
func window(first string, others ...string) board.Variable {
	return board.Variable{
		Name: "window", Label: "Window", One: true, Values: append([]string{first}, others...),
		Help: "Time over which requests are put together. A probe of one request a minute has 60 in an hour, and p95 needs 100: short windows show less, not more.",
	}
}
