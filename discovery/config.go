package discovery

import (
	"fmt"
	"slices"
	"time"

	sd "github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/dns"
	"github.com/prometheus/prometheus/discovery/file"
	"github.com/prometheus/prometheus/discovery/http"
	"github.com/prometheus/prometheus/model/relabel"
)

// DefaultGrace is how long a target that vanished stays.
const DefaultGrace = 2 * time.Minute

// SetConfig is one set of targets: where they are found and what is done to their labels. It was validated.
type SetConfig struct {
	Name    string
	Configs sd.Configs
	Relabel []*relabel.Config
	Grace   time.Duration
}

// Mechanisms are the keys of a set that are those of Prometheus, and our own in its style.
type Mechanisms struct {
	Files          []file.SDConfig       `yaml:"file_sd_configs,omitempty"`
	HTTP           []http.SDConfig       `yaml:"http_sd_configs,omitempty"`
	DNS            []dns.SDConfig        `yaml:"dns_sd_configs,omitempty"`
	Kubernetes     []KubernetesConfig    `yaml:"kubernetes_sd_configs,omitempty"`
	InferencePools []InferencePoolConfig `yaml:"inference_pool_sd_configs,omitempty"`
	Relabel        []relabel.Config      `yaml:"relabel_configs,omitempty"`
}

// MechanismKeys are the keys of which a set needs one at least.
var MechanismKeys = []string{"file_sd_configs", "http_sd_configs", "dns_sd_configs", "kubernetes_sd_configs", "inference_pool_sd_configs"}

// KubernetesKeys are those that need a build with Kubernetes.
var KubernetesKeys = []string{"kubernetes_sd_configs", "inference_pool_sd_configs"}

// Configs are all mechanisms, in the order of the fields.
func (m *Mechanisms) Configs() sd.Configs {
	out := make(sd.Configs, 0, len(m.Files)+len(m.HTTP)+len(m.DNS))
	for i := range m.Files {
		out = append(out, &m.Files[i])
	}
	for i := range m.HTTP {
		out = append(out, &m.HTTP[i])
	}
	for i := range m.DNS {
		out = append(out, &m.DNS[i])
	}
	return slices.Concat(out, m.ofKubernetes())
}

// RelabelConfigs are the steps of relabelling.
func (m *Mechanisms) RelabelConfigs() []*relabel.Config {
	out := make([]*relabel.Config, len(m.Relabel))
	for i := range m.Relabel {
		out[i] = &m.Relabel[i]
	}
	return out
}

// Entry gives an empty entry of a list of Mechanisms to decode into, and adds it. It panics at a key that is none: a mistake of the program.
func (m *Mechanisms) Entry(key string) any {
	switch key {
	case "file_sd_configs":
		return grow(&m.Files)
	case "http_sd_configs":
		return grow(&m.HTTP)
	case "dns_sd_configs":
		return grow(&m.DNS)
	case "kubernetes_sd_configs":
		return grow(&m.Kubernetes)
	case "inference_pool_sd_configs":
		return grow(&m.InferencePools)
	case "relabel_configs":
		return grow(&m.Relabel)
	}
	panic(fmt.Sprintf("discovery: no list of mechanisms is called %q", key))
}

// grow adds an entry. It is used before the next one is added, which may move it.
func grow[T any](list *[]T) *T {
	*list = append(*list, *new(T))
	return &(*list)[len(*list)-1]
}
