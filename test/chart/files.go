package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Folder is that of the chart, in the folder deploy.
const Folder = "helm/aiperf-exporter"

// Files are those of the chart that are made of others, by their path in the folder deploy.
func Files(root string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "deploy", Folder, "values.yaml"))
	if err != nil {
		return nil, err
	}
	values, err := readValues(text)
	if err != nil {
		return nil, err
	}
	out := map[string]string{Folder + "/README.md": readme(values)}
	if out[Folder+"/values.schema.json"], err = valuesSchema(values); err != nil {
		return nil, err
	}
	return out, copies(root, out)
}

// copies are the rules and the dashboards. These lose their spaces: an object with one must not be larger than 1 MiB, and `kubectl apply` keeps
// a copy of each object in an annotation of it, of at most 256 KiB.
func copies(root string, out map[string]string) error {
	for from, to := range map[string]string{"alerts/rules/*.yml": "files/rules", "dashboards/json/*.json": "files/dashboards"} {
		names, err := filepath.Glob(filepath.Join(root, from))
		if err != nil {
			return err
		}
		if len(names) == 0 {
			return fmt.Errorf("there is no %s", from)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			if filepath.Ext(name) == ".json" {
				var b bytes.Buffer
				if err := json.Compact(&b, text); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				text = append(b.Bytes(), '\n')
			}
			out[filepath.Join(Folder, to, filepath.Base(name))] = string(text)
		}
	}
	return nil
}
