package alerts

import "slices"

// Files are those of this folder that are generated, by path.
func Files(site Site) map[string]string {
	groups := Groups(site)
	out := map[string]string{
		"prometheusrule.yml":           PrometheusRule(groups),
		"alertmanager-inhibit.yml":     Inhibit(site),
		"mixin/prometheus_rules.yaml":  Prometheus(only(groups, "", func(r *Rule) bool { return r.Record != "" })),
		"mixin/prometheus_alerts.yaml": Prometheus(only(groups, "-alerts", func(r *Rule) bool { return r.Alert != "" })),
	}
	for _, g := range groups {
		path := "rules/" + g.File + ".yml"
		if _, written := out[path]; !written {
			others := func(other Group) bool { return other.File != g.File }
			out[path] = headings[g.File] + Prometheus(slices.DeleteFunc(slices.Clone(groups), others))
		}
	}
	return out
}

// only are the groups with some of their rules. Their names get an end, since a mixin puts alerts and rules into one object.
func only(groups []Group, end string, wanted func(*Rule) bool) []Group {
	var out []Group
	for _, g := range groups {
		g.Rules = slices.DeleteFunc(slices.Clone(g.Rules), func(r Rule) bool { return !wanted(&r) })
		if g.Name += end; len(g.Rules) > 0 {
			out = append(out, g)
		}
	}
	return out
}

// headings say what a file of rules is about.
var headings = map[string]string{
	"slo": `# Is a target down, and does it keep its SLOs? Objectives, windows and what is paused are read from series: no rule has to be changed with a
# configuration.
`,
	"latency": "# How long requests take, where there are enough of them to say it.\n",
	"traffic": "# What is sent, and what comes back.\n",
	"vantage": `# One target seen from several places: exporters that carry a label vantage, of the scrape or under global.labels. Without one there is no series here.
`,
	"exporter":   "# Can the exporters be trusted, and is everything there that should be?\n",
	"regression": "# Has a target become slower than it was?\n",
	"correlation": `# The client's view beside the server's and the GPUs': whose fault is it, and what does a token cost? No rule names a target of yours; what a rule
# needs and nobody exposes gives no series. Means only, never a difference of quantiles: the server has answered others than this exporter, too.
#
# Exporters that share a load (--shard) read the same servers and GPUs, and on a page a front end and the engine behind it may count the same tokens,
# as Dynamo and vLLM do. So what servers say is added up for each exporter and kind of server, and the largest is taken; and a GPU counts once.
`,
	"server":      "# What servers and GPUs say of themselves that is a cause, or will be.\n",
	"correctness": "# Are the answers right?\n",
}
