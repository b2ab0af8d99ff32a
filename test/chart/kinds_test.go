package chart

import (
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// kinds are the types of all that the chart renders, by version and kind.
var kinds = map[string]func() any{
	"v1/ConfigMap":                                    func() any { return &core.ConfigMap{} },
	"v1/PersistentVolumeClaim":                        func() any { return &core.PersistentVolumeClaim{} },
	"v1/Pod":                                          func() any { return &core.Pod{} },
	"v1/Secret":                                       func() any { return &core.Secret{} },
	"v1/Service":                                      func() any { return &core.Service{} },
	"v1/ServiceAccount":                               func() any { return &core.ServiceAccount{} },
	"apps/v1/DaemonSet":                               func() any { return &apps.DaemonSet{} },
	"apps/v1/Deployment":                              func() any { return &apps.Deployment{} },
	"apps/v1/StatefulSet":                             func() any { return &apps.StatefulSet{} },
	"networking.k8s.io/v1/NetworkPolicy":              func() any { return &networking.NetworkPolicy{} },
	"policy/v1/PodDisruptionBudget":                   func() any { return &policy.PodDisruptionBudget{} },
	"rbac.authorization.k8s.io/v1/Role":               func() any { return &rbac.Role{} },
	"rbac.authorization.k8s.io/v1/RoleBinding":        func() any { return &rbac.RoleBinding{} },
	"rbac.authorization.k8s.io/v1/ClusterRole":        func() any { return &rbac.ClusterRole{} },
	"rbac.authorization.k8s.io/v1/ClusterRoleBinding": func() any { return &rbac.ClusterRoleBinding{} },
	"monitoring.coreos.com/v1/PodMonitor":             func() any { return &monitoring.PodMonitor{} },
	"monitoring.coreos.com/v1/Probe":                  func() any { return &monitoring.Probe{} },
	"monitoring.coreos.com/v1/PrometheusRule":         func() any { return &monitoring.PrometheusRule{} },
	"monitoring.coreos.com/v1/ServiceMonitor":         func() any { return &monitoring.ServiceMonitor{} },
	"monitoring.googleapis.com/v1/PodMonitoring":      func() any { return &podMonitoring{} },
	"autoscaling.k8s.io/v1/VerticalPodAutoscaler":     func() any { return &verticalPodAutoscaler{} },
}

// podMonitoring is what is used of Google's kind, whose module is large.
type podMonitoring struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port     string `json:"port"`
			Scheme   string `json:"scheme"`
			Interval string `json:"interval"`
		} `json:"endpoints"`
	} `json:"spec"`
}

// verticalPodAutoscaler is what is used of that of Kubernetes, likewise.
type verticalPodAutoscaler struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		TargetRef struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Name       string `json:"name"`
		} `json:"targetRef"`
		UpdatePolicy struct {
			UpdateMode  string `json:"updateMode"`
			MinReplicas *int32 `json:"minReplicas"`
		} `json:"updatePolicy"`
		ResourcePolicy struct {
			ContainerPolicies []struct {
				ContainerName       string                       `json:"containerName"`
				ControlledValues    string                       `json:"controlledValues"`
				ControlledResources []string                     `json:"controlledResources"`
				MinAllowed          map[string]resource.Quantity `json:"minAllowed"`
				MaxAllowed          map[string]resource.Quantity `json:"maxAllowed"`
			} `json:"containerPolicies"`
		} `json:"resourcePolicy"`
	} `json:"spec"`
}

// typed is an object as its type; a field that the type does not have is an error.
func typed(t *testing.T, o *Object) any {
	t.Helper()
	version, _ := o.Content["apiVersion"].(string)
	empty, known := kinds[version+"/"+o.Kind]
	if !known {
		t.Fatalf("no type is known for %s/%s", version, o.Kind)
	}
	out := empty()
	if err := yaml.UnmarshalStrict([]byte(o.Text), out); err != nil {
		t.Fatalf("%s %s: %v", o.Kind, o.Name, err)
	}
	return out
}

// all are the objects of a type.
func all[T any](t *testing.T, objects []Object) (out []T) {
	t.Helper()
	for i := range objects {
		if v, ok := typed(t, &objects[i]).(T); ok {
			out = append(out, v)
		}
	}
	return out
}

// pod is that of a Deployment, a StatefulSet, a DaemonSet, or of a test.
type pod struct {
	owner       string // kind
	selector    *metav1.LabelSelector
	labels      map[string]string
	annotations map[string]string
	spec        core.PodSpec
}

func pods(t *testing.T, objects []Object) (out []pod) {
	t.Helper()
	for i := range objects {
		switch o := typed(t, &objects[i]).(type) {
		case *apps.Deployment:
			out = append(out, pod{o.Kind, o.Spec.Selector, o.Spec.Template.Labels, o.Spec.Template.Annotations, o.Spec.Template.Spec})
		case *apps.StatefulSet:
			out = append(out, pod{o.Kind, o.Spec.Selector, o.Spec.Template.Labels, o.Spec.Template.Annotations, o.Spec.Template.Spec})
		case *apps.DaemonSet:
			out = append(out, pod{o.Kind, o.Spec.Selector, o.Spec.Template.Labels, o.Spec.Template.Annotations, o.Spec.Template.Spec})
		case *core.Pod:
			out = append(out, pod{o.Kind, nil, o.Labels, o.Annotations, o.Spec})
		}
	}
	return out
}
