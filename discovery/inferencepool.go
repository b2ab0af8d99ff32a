//go:build k8s_sd

package discovery

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/config"
	"github.com/prometheus/common/version"
	sd "github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/kubernetes"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// namespaceFile is where a pod finds its own namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// InferencePoolConfig is one entry of inference_pool_sd_configs: which cluster is asked, as in kubernetes_sd_configs. Without a server and
// a file it is the one in which the exporter runs.
type InferencePoolConfig struct {
	APIServer        config.URL                    `yaml:"api_server,omitempty"`
	KubeConfig       string                        `yaml:"kubeconfig_file,omitempty"`
	HTTPClientConfig config.HTTPClientConfig       `yaml:",inline"`
	Namespaces       kubernetes.NamespaceDiscovery `yaml:"namespaces,omitempty"`
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (c *InferencePoolConfig) UnmarshalYAML(unmarshal func(any) error) error {
	*c = InferencePoolConfig{HTTPClientConfig: config.DefaultHTTPClientConfig}
	type plain InferencePoolConfig
	if err := unmarshal((*plain)(c)); err != nil {
		return err
	}
	custom := !reflect.DeepEqual(c.HTTPClientConfig, config.DefaultHTTPClientConfig)
	switch {
	case c.APIServer.URL != nil && c.KubeConfig != "":
		return errors.New("api_server and kubeconfig_file exclude each other")
	case custom && c.APIServer.URL == nil:
		return errors.New("settings of the HTTP client need an api_server")
	case c.Namespaces.IncludeOwnNamespace && (c.APIServer.URL != nil || c.KubeConfig != ""):
		return errors.New("own_namespace is only known where the exporter runs: it excludes api_server and kubeconfig_file")
	}
	return c.HTTPClientConfig.Validate()
}

// Name implements sd.Config.
func (*InferencePoolConfig) Name() string { return "inference_pool" }

// NewDiscovererMetrics implements sd.Config; what fails is counted by the set.
func (*InferencePoolConfig) NewDiscovererMetrics(prometheus.Registerer, sd.RefreshMetricsInstantiator) sd.DiscovererMetrics {
	return &sd.NoopDiscovererMetrics{}
}

// NewDiscoverer implements sd.Config.
func (c *InferencePoolConfig) NewDiscoverer(opts sd.DiscovererOptions) (sd.Discoverer, error) {
	rc, err := c.cluster()
	if err != nil {
		return nil, err
	}
	namespaces, err := c.namespaces()
	if err != nil {
		return nil, err
	}
	rc.UserAgent = version.PrometheusUserAgent()
	client, err := dynamic.NewForConfig(rc) // one that knows every kind by its type would double the program
	if err != nil {
		return nil, err
	}
	return &poolWatch{client: client, namespaces: namespaces, logger: opts.Logger}, nil
}

// cluster is how the server of the API is reached.
func (c *InferencePoolConfig) cluster() (*rest.Config, error) {
	switch {
	case c.KubeConfig != "":
		return clientcmd.BuildConfigFromFlags("", c.KubeConfig)
	case c.APIServer.URL == nil:
		return rest.InClusterConfig()
	}
	transport, err := config.NewRoundTripperFromConfig(c.HTTPClientConfig, "inference_pool_sd")
	if err != nil {
		return nil, err
	}
	return &rest.Config{Host: c.APIServer.String(), Transport: transport}, nil
}

// namespaces are those that are watched; "" is all of them.
func (c *InferencePoolConfig) namespaces() ([]string, error) {
	names := append([]string(nil), c.Namespaces.Names...)
	if c.Namespaces.IncludeOwnNamespace {
		own, err := os.ReadFile(namespaceFile)
		if err != nil {
			return nil, fmt.Errorf("own namespace: %w", err)
		}
		names = append(names, strings.TrimSpace(string(own)))
	}
	if len(names) == 0 {
		names = []string{""}
	}
	return names, nil
}
