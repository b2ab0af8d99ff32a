//go:build containers

package containers

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// project reads the Compose file as an engine does: what its schema does not know is refused.
func project(t *testing.T) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "deploy", "compose", "compose.yml")}, cli.WithResolvedPaths(true))
	if err != nil {
		t.Fatal(err)
	}
	out, err := options.LoadProject(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Somebody who tries it gets what he would run in earnest.
func TestServicesOfTheComposeFileAreHardened(t *testing.T) {
	t.Parallel()
	pinned := regexp.MustCompile(`^[a-z/]+:v?\d+\.\d+\.\d+$`)
	for name, s := range project(t).Services {
		switch {
		case !s.ReadOnly:
			t.Errorf("%s: its root can be written", name)
		case !slices.Equal(s.CapDrop, []string{"ALL"}) || len(s.CapAdd) > 0 || s.Privileged:
			t.Errorf("%s: it has capabilities", name)
		case !slices.Contains(s.SecurityOpt, "no-new-privileges:true"):
			t.Errorf("%s: it may gain privileges", name)
		case s.MemLimit == 0 || s.PidsLimit == 0:
			t.Errorf("%s: without limits", name)
		case s.HealthCheck == nil || len(s.HealthCheck.Test) == 0:
			t.Errorf("%s: nobody asks for its health", name)
		case s.Build == nil && !pinned.MatchString(s.Image):
			t.Errorf("%s: %s can be another one tomorrow", name, s.Image)
		}
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("%s: everybody reaches port %s", name, p.Published)
			}
		}
	}
}

func TestWhatTheComposeFileNamesIsThere(t *testing.T) {
	t.Parallel()
	p := project(t)
	for name, s := range p.Services {
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !v.ReadOnly {
				t.Errorf("%s: it can write %s", name, v.Source)
			}
		}
	}
	if s := p.Services["exporter"]; s.Build == nil || s.Build.Target != "static" {
		t.Errorf("the exporter is built from %+v", s.Build)
	}
}

// Grafana itself cannot be had here: its files name services and places that the Compose file has.
func TestGrafanaFindsItsDataAndDashboards(t *testing.T) {
	t.Parallel()
	p := project(t)
	grafana := p.Services["grafana"]
	source, err := os.ReadFile(filepath.Join(root, "deploy", "grafana", "provisioning", "datasources", "aiperf.yml"))
	if err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(regexp.MustCompile(`(?m)^    url: (\S+)$`).FindStringSubmatch(string(source))[1])
	if err != nil {
		t.Fatal(err)
	}
	if s, known := p.Services[address.Hostname()]; !known || !slices.ContainsFunc(s.Ports, func(c types.ServicePortConfig) bool { return address.Port() == "9090" && c.Target == 9090 }) {
		t.Errorf("no service answers at %v", address)
	}
	provider, err := os.ReadFile(filepath.Join(root, "deploy", "grafana", "provisioning", "dashboards", "aiperf.yml"))
	if err != nil {
		t.Fatal(err)
	}
	place := regexp.MustCompile(`path: ([^\s}]+)`).FindStringSubmatch(string(provider))[1]
	home := *grafana.Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	found := false
	for _, v := range grafana.Volumes {
		if v.Target == place {
			_, err := os.Stat(filepath.Join(v.Source, strings.TrimPrefix(home, place)))
			found = err == nil
		}
	}
	if !found {
		t.Errorf("no %s", home)
	}
}
