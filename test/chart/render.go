package chart

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	"sigs.k8s.io/yaml"
)

// Release is the name under which the chart is rendered, and the namespace.
const (
	Release   = "aiperf-exporter"
	Namespace = "aiperf-exporter"
)

// kubernetes is the version that the chart is told to be installed in.
const kubernetes = "v1.37.2"

// Object is one of Kubernetes, as the chart renders it.
type Object struct {
	Kind, Name, Namespace string
	Text                  string         // YAML, with the comments of the template
	Content               map[string]any // what it says
	Hook                  bool           // it belongs to a command of Helm, such as helm test
}

// Rendered is what Helm makes of the chart.
type Rendered struct {
	Objects []Object // in the order of their templates
	Notes   string   // what is told after an installation
}

// Load reads the chart of a folder.
func Load(folder string) (*chart.Chart, error) { return loader.LoadDir(folder) }

// Render gives the objects of the chart for some values, which are those of a values.yaml.
func Render(c *chart.Chart, values string) (Rendered, error) {
	own, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		return Rendered{}, err
	}
	able := chartutil.DefaultCapabilities.Copy()
	version, err := chartutil.ParseKubeVersion(kubernetes)
	if err != nil {
		return Rendered{}, err
	}
	able.KubeVersion = *version
	if !chartutil.IsCompatibleRange(c.Metadata.KubeVersion, kubernetes) {
		return Rendered{}, fmt.Errorf("the chart is not for Kubernetes %s", kubernetes)
	}
	full, err := chartutil.ToRenderValues(c, own, chartutil.ReleaseOptions{Name: Release, Namespace: Namespace, Revision: 1, IsInstall: true}, able)
	if err != nil {
		return Rendered{}, err
	}
	files, err := engine.Render(c, full)
	if err != nil {
		return Rendered{}, err
	}
	return objects(files)
}

func objects(files map[string]string) (out Rendered, err error) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Base(name) == "NOTES.txt" {
			out.Notes = files[name]
			continue
		}
		documents := releaseutil.SplitManifests(files[name])
		for _, key := range slices.SortedFunc(maps.Keys(documents), inOrder) {
			o, err := read(documents[key])
			if err != nil {
				return out, fmt.Errorf("%s: %w", name, err)
			}
			if o.Content != nil {
				out.Objects = append(out.Objects, o)
			}
		}
	}
	return out, nil
}

// inOrder compares the names that Helm gives to the documents of a file: manifest-0, manifest-1.
func inOrder(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

func read(text string) (Object, error) {
	o := Object{Text: strings.TrimSpace(text) + "\n"}
	if err := yaml.UnmarshalStrict([]byte(text), &o.Content); err != nil {
		return o, fmt.Errorf("%w in\n%s", err, text)
	}
	o.Kind, _ = o.Content["kind"].(string)
	metadata, _ := o.Content["metadata"].(map[string]any)
	o.Name, _ = metadata["name"].(string)
	o.Namespace, _ = metadata["namespace"].(string)
	annotations, _ := metadata["annotations"].(map[string]any)
	_, o.Hook = annotations["helm.sh/hook"]
	return o, nil
}
