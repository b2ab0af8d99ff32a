//go:build k8s_sd

package discovery

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/util/strutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// poolKinds are the versions of InferencePool, the newest first: the older one has another group, and another form of its selector and ports.
var poolKinds = []schema.GroupVersionResource{
	{Group: "inference.networking.k8s.io", Version: "v1", Resource: "inferencepools"},
	{Group: "inference.networking.x-k8s.io", Version: "v1alpha2", Resource: "inferencepools"},
}

// Meta labels, those of pods as kubernetes_sd_configs call them.
const (
	poolPrefix = model.MetaLabelPrefix + "inferencepool_"
	kubePrefix = model.MetaLabelPrefix + "kubernetes_"
	podPrefix  = kubePrefix + "pod_"
)

// pool is an InferencePool of either version.
type pool struct {
	namespace, name string
	meta            metav1.Object
	selector        labels.Selector
	ports           []int64
}

func poolSource(namespace, name string) string { return "inferencepool/" + namespace + "/" + name }

// readPool takes what is needed out of a pool of either version.
func readPool(object *unstructured.Unstructured) (*pool, error) {
	p := &pool{namespace: object.GetNamespace(), name: object.GetName(), meta: object}
	wrong := func(err error) (*pool, error) { return nil, fmt.Errorf("pool %s/%s: %w", p.namespace, p.name, err) }
	spec, _, err := unstructured.NestedMap(object.Object, "spec")
	if err != nil {
		return wrong(err)
	}
	match, isNew, err := unstructured.NestedStringMap(spec, "selector", "matchLabels")
	if !isNew || err != nil { // the older version has the labels themselves there
		match, _, err = unstructured.NestedStringMap(spec, "selector")
	}
	if err != nil {
		return wrong(err)
	}
	if len(match) == 0 {
		return wrong(errors.New("its selector is empty")) // which would select every pod
	}
	p.selector = labels.SelectorFromSet(match)
	p.ports, err = portsOf(spec)
	if err != nil {
		return wrong(err)
	}
	return p, nil
}

// portsOf reads the ports: a list in the newer version, one in the older.
func portsOf(spec map[string]any) ([]int64, error) {
	var ports []int64
	list, _, err := unstructured.NestedSlice(spec, "targetPorts")
	if err != nil {
		return nil, err
	}
	for _, item := range list {
		entry, _ := item.(map[string]any) // nil has no number
		if number, ok, err := unstructured.NestedInt64(entry, "number"); err == nil && ok {
			ports = append(ports, number)
		}
	}
	if number, ok, err := unstructured.NestedInt64(spec, "targetPortNumber"); err == nil && ok {
		ports = append(ports, number)
	}
	ports = slices.DeleteFunc(ports, func(port int64) bool { return port < 1 || port > 65535 })
	if len(ports) == 0 {
		return nil, errors.New("it has no port")
	}
	return ports, nil
}

// group gives one target for each port of each pod.
func (p *pool) group(pods []*corev1.Pod) *targetgroup.Group {
	out := &targetgroup.Group{Source: poolSource(p.namespace, p.name), Labels: model.LabelSet{
		kubePrefix + "namespace": text(p.namespace), poolPrefix + "namespace": text(p.namespace), poolPrefix + "name": text(p.name),
	}}
	addMeta(out.Labels, poolPrefix, p.meta)
	pods = slices.SortedFunc(slices.Values(pods), func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for _, pod := range pods {
		for _, port := range p.ports {
			number := strconv.FormatInt(port, 10)
			labelSet := podLabels(pod)
			labelSet[model.AddressLabel] = text(net.JoinHostPort(pod.Status.PodIP, number))
			labelSet[poolPrefix+"port_number"] = text(number)
			out.Targets = append(out.Targets, labelSet)
		}
	}
	return out
}

// podReady tells whether a pod takes requests now.
func podReady(pod *corev1.Pod) bool {
	if pod.Status.PodIP == "" || pod.DeletionTimestamp != nil {
		return false
	}
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func podLabels(pod *corev1.Pod) model.LabelSet {
	out := model.LabelSet{
		podPrefix + "name": text(pod.Name), podPrefix + "ip": text(pod.Status.PodIP), podPrefix + "ready": "true", podPrefix + "phase": text(string(pod.Status.Phase)),
		podPrefix + "node_name": text(pod.Spec.NodeName), podPrefix + "host_ip": text(pod.Status.HostIP), podPrefix + "uid": text(string(pod.UID)),
	}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		out[podPrefix+"controller_kind"], out[podPrefix+"controller_name"] = text(owner.Kind), text(owner.Name)
	}
	addMeta(out, podPrefix, pod)
	return out
}

// addMeta adds labels and annotations of an object as Prometheus writes them.
func addMeta(to model.LabelSet, prefix string, object metav1.Object) {
	for _, of := range []struct {
		kind   string
		values map[string]string
	}{{"label", object.GetLabels()}, {"annotation", object.GetAnnotations()}} {
		for name, value := range of.values {
			name = strutil.SanitizeLabelName(name)
			to[model.LabelName(prefix+of.kind+"_"+name)] = text(value)
			to[model.LabelName(prefix+of.kind+"present_"+name)] = "true"
		}
	}
}

func text(s string) model.LabelValue { return model.LabelValue(s) }
