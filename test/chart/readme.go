package chart

import (
	_ "embed"
	"strings"
)

//go:embed readme.md.tmpl
var readmeTemplate string

// readme is the README.md of the chart.
func readme(values []value) string {
	var b strings.Builder
	b.WriteString("| key | default | meaning |\n|---|---|---|\n")
	rows(&b, values)
	return strings.Replace(readmeTemplate, "VALUES\n", b.String(), 1)
}

func rows(b *strings.Builder, values []value) {
	for _, v := range values {
		if v.kind == "object" && !v.foreign {
			rows(b, v.keys)
			continue
		}
		about := v.about
		if about == "" {
			about = "As in `" + strings.Replace(v.path, "podMonitor", "serviceMonitor", 1) + "`."
		}
		b.WriteString("| `" + v.path + "` | `" + strings.ReplaceAll(v.text, "|", "\\|") + "` | " + strings.ReplaceAll(about, "|", "\\|") + " |\n")
	}
}
