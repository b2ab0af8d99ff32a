//go:build k8s_sd

package discovery

import (
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	sd "github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/kubernetes"
	"k8s.io/klog/v2"
)

// Kubernetes tells whether this build has the mechanisms of Kubernetes.
const Kubernetes = true

// KubernetesConfig is one entry of kubernetes_sd_configs.
type KubernetesConfig = kubernetes.SDConfig

// ofKubernetes are the mechanisms that only this build has.
func (m *Mechanisms) ofKubernetes() sd.Configs {
	out := make(sd.Configs, 0, len(m.Kubernetes)+len(m.InferencePools))
	for i := range m.Kubernetes {
		out = append(out, &m.Kubernetes[i])
	}
	for i := range m.InferencePools {
		out = append(out, &m.InferencePools[i])
	}
	return out
}

// kubernetesLog is where Kubernetes' client writes, which has one log for the whole process: the first that is given.
var kubernetesLog sync.Once //nolint:gochecknoglobals // the log of the client is a global of its package

// followKubernetesLog sends what Kubernetes' client says to the log of the program; it would write to standard error in a form of its own.
func followKubernetesLog(logger *slog.Logger) {
	kubernetesLog.Do(func() { klog.SetSlogLogger(logger.With(slog.String("mechanism", "kubernetes"))) })
}

// registerKubernetes adds how requests of Kubernetes' client go, for all sets together: of a cluster that refuses connections kubernetes_sd_configs
// tell nothing else.
func registerKubernetes(registerer prometheus.Registerer) error {
	return sd.RegisterK8sClientMetricsWithPrometheus(registerer)
}
