//go:build !k8s_sd

package discovery

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	sd "github.com/prometheus/prometheus/discovery"
)

// Kubernetes tells whether this build has the mechanisms of Kubernetes.
const Kubernetes = false

// KubernetesConfig stands for the entries of kubernetes_sd_configs, which are refused in this build.
type KubernetesConfig struct{}

// InferencePoolConfig stands for the entries of inference_pool_sd_configs, likewise.
type InferencePoolConfig struct{}

func (*Mechanisms) ofKubernetes() sd.Configs { return nil }

func followKubernetesLog(*slog.Logger) {}

func registerKubernetes(prometheus.Registerer) error { return nil }
