package chart

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func TestNoPodMayDoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	forEachSet(t, func(t *testing.T, name, values string) {
		t.Helper()
		if name == "everything" {
			t.Skip("it has containers of a user, and the network of the node")
		}
		for _, p := range pods(t, render(t, values)) {
			confined(t, &p)
			reads := strings.HasPrefix(name, "discovery-") && p.owner == "Deployment"
			if got := *p.spec.AutomountServiceAccountToken; got != reads {
				t.Errorf("%s: automountServiceAccountToken is %t", p.owner, got)
			}
		}
	})
}

// confined finds whatever a pod has that the Pod Security Standard restricted would not let it have, and a little more.
func confined(t *testing.T, p *pod) {
	t.Helper()
	context := p.spec.SecurityContext
	if !*context.RunAsNonRoot || *context.RunAsUser != 65532 || *context.RunAsGroup != 65532 || *context.FSGroup != 65532 {
		t.Errorf("%s: it does not run as 65532: %v", p.owner, context)
	}
	if context.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%s: its seccomp profile is %v", p.owner, context.SeccompProfile)
	}
	if p.spec.HostNetwork || p.spec.HostPID || p.spec.HostIPC {
		t.Errorf("%s: it sees more of its node than it should", p.owner)
	}
	for _, v := range p.spec.Volumes {
		if v.HostPath != nil {
			t.Errorf("%s: %s is a folder of the node", p.owner, v.Name)
		}
	}
	for _, c := range p.spec.Containers {
		may := c.SecurityContext
		if *may.AllowPrivilegeEscalation || !*may.ReadOnlyRootFilesystem || !slices.Equal(may.Capabilities.Drop, []core.Capability{"ALL"}) || len(may.Capabilities.Add) > 0 {
			t.Errorf("%s: %s may %v", p.owner, c.Name, may)
		}
		if _, throttled := c.Resources.Limits[core.ResourceCPU]; throttled {
			t.Errorf("%s: %s has a limit for CPU", p.owner, c.Name)
		}
		for _, e := range c.Env {
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				t.Errorf("%s: %s has a secret in %s", p.owner, c.Name, e.Name)
			}
		}
	}
}

// A GPU that an agent requested would be missing to the model.
func TestTheAgentRequestsNoGPU(t *testing.T) {
	t.Parallel()
	for _, p := range pods(t, render(t, "gpuAgent: {enabled: true}")) {
		for name := range p.spec.Containers[0].Resources.Requests {
			if name != core.ResourceCPU && name != core.ResourceMemory {
				t.Errorf("%s requests %s", p.owner, name)
			}
		}
	}
}

func TestRightsAreThoseOfDiscoveryAndNoOthers(t *testing.T) {
	t.Parallel()
	allowed := map[string][]string{
		"":                              {"pods", "services"},
		"discovery.k8s.io":              {"endpointslices"},
		"inference.networking.k8s.io":   {"inferencepools"},
		"inference.networking.x-k8s.io": {"inferencepools"},
	}
	forEachSet(t, func(t *testing.T, name, values string) {
		t.Helper()
		objects := render(t, values)
		var rules []rbac.PolicyRule
		for _, r := range all[*rbac.Role](t, objects) {
			rules = append(rules, r.Rules...)
		}
		for _, r := range all[*rbac.ClusterRole](t, objects) {
			rules = append(rules, r.Rules...)
		}
		if want := strings.HasPrefix(name, "discovery-"); (len(rules) > 0) != want {
			t.Errorf("there are %d rules", len(rules))
		}
		for _, r := range rules {
			if diff := cmp.Diff([]string{"list", "watch"}, r.Verbs); diff != "" {
				t.Errorf("verbs: %s", diff)
			}
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					if !slices.Contains(allowed[group], resource) {
						t.Errorf("there is a right for %s of %q", resource, group)
					}
				}
			}
			if len(r.NonResourceURLs)+len(r.ResourceNames) > 0 {
				t.Errorf("there is a right of another kind: %v", r)
			}
		}
	})
}

func TestRolesAreInTheNamespacesThatAreNamed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, values string
		namespaces   []string // of Roles
		clusterWide  int
	}{
		{"by default in the release's own", "discovery: {enabled: true}", []string{Namespace}, 0},
		{"in those that are listed only", "discovery: {enabled: true, namespaces: [a, b]}", []string{"a", "b"}, 0},
		{"cluster-wide there are none", "discovery: {enabled: true, clusterWide: true, namespaces: [a]}", nil, 1},
		{"without discovery there are none", "discovery: {clusterWide: true, namespaces: [a]}", nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			objects := render(t, test.values)
			var got []string
			for _, r := range all[*rbac.Role](t, objects) {
				got = append(got, r.Namespace)
			}
			if diff := cmp.Diff(test.namespaces, got); diff != "" {
				t.Errorf("namespaces (-want +got):\n%s", diff)
			}
			if got := len(all[*rbac.ClusterRole](t, objects)); got != test.clusterWide {
				t.Errorf("%d ClusterRoles", got)
			}
			for _, b := range all[*rbac.RoleBinding](t, objects) {
				want := []rbac.Subject{{Kind: "ServiceAccount", Name: "aiperf-exporter", Namespace: Namespace}}
				if diff := cmp.Diff(want, b.Subjects); diff != "" || b.RoleRef.Name != b.Name {
					t.Errorf("RoleBinding %s of %s: %s", b.Name, b.RoleRef.Name, diff)
				}
			}
		})
	}
}

// chooses tells whether a selector fits labels.
func chooses(t *testing.T, selector *metav1.LabelSelector, of map[string]string) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return s.Matches(labels.Set(of))
}

func TestEverySelectorFitsItsOwnPodsAndNoOthers(t *testing.T) {
	t.Parallel()
	forEachSet(t, func(t *testing.T, _, values string) {
		t.Helper()
		objects := render(t, values)
		owners := pods(t, objects)
		chosen := func(selector *metav1.LabelSelector) (out []string) {
			for _, p := range owners {
				if chooses(t, selector, p.labels) {
					out = append(out, p.owner)
				}
			}
			return out
		}
		for _, p := range owners {
			if p.selector == nil {
				continue
			}
			if diff := cmp.Diff([]string{p.owner}, chosen(p.selector)); diff != "" {
				t.Errorf("the selector of the %s: %s", p.owner, diff)
			}
			if diff := cmp.Diff([]string{"app.kubernetes.io/instance", "app.kubernetes.io/name"}, slices.Sorted(maps.Keys(p.selector.MatchLabels))); diff != "" {
				t.Errorf("the selector of the %s, which can never be changed: %s", p.owner, diff)
			}
		}
		for _, s := range all[*core.Service](t, objects) {
			got := chosen(&metav1.LabelSelector{MatchLabels: s.Spec.Selector})
			if want := strings.HasSuffix(s.Name, "-gpu"); len(got) != 1 || (got[0] == "DaemonSet") != want {
				t.Errorf("behind the Service %s is %v", s.Name, got)
			}
		}
		for _, b := range all[*policy.PodDisruptionBudget](t, objects) {
			if got := chosen(b.Spec.Selector); !slices.Equal(got, []string{"StatefulSet"}) {
				t.Errorf("the budget is about %v", got)
			}
		}
		for _, n := range all[*networking.NetworkPolicy](t, objects) {
			if got := chosen(&n.Spec.PodSelector); slices.Contains(got, "Pod") || len(got) == 0 {
				t.Errorf("the policy is about %v", got)
			}
		}
	})
}

// Whatever scrapes sees each exporter once, under a job of its own for the DaemonSet: the rules that notice that an exporter is gone know the job.
func TestMonitorsFindEachExporterOnce(t *testing.T) {
	t.Parallel()
	objects := render(t, "{gpuAgent: {enabled: true}, sharding: {replicas: 2}, serviceMonitor: {enabled: true}, podMonitor: {enabled: true}}")
	services, byService := all[*core.Service](t, objects), map[string]string{}
	monitor := all[*monitoring.ServiceMonitor](t, objects)[0]
	for _, p := range pods(t, objects) {
		for _, s := range services {
			behind := chooses(t, &metav1.LabelSelector{MatchLabels: s.Spec.Selector}, p.labels)
			if behind && chooses(t, &monitor.Spec.Selector, s.Labels) {
				byService[p.owner] += s.Labels[monitor.Spec.JobLabel] + ";"
			}
		}
	}
	want := map[string]string{"StatefulSet": "aiperf-exporter;", "DaemonSet": "aiperf-exporter-gpu;"}
	if diff := cmp.Diff(want, byService); diff != "" {
		t.Errorf("jobs by way of Services (-want +got):\n%s", diff)
	}
	byPod, pod := map[string]string{}, all[*monitoring.PodMonitor](t, objects)[0]
	for _, p := range pods(t, objects) {
		if chooses(t, &pod.Spec.Selector, p.labels) {
			byPod[p.owner] += p.labels[pod.Spec.JobLabel] + ";"
		}
	}
	if diff := cmp.Diff(want, byPod); diff != "" {
		t.Errorf("jobs of pods (-want +got):\n%s", diff)
	}
}

func TestEveryNameOfAVolumeIsMounted(t *testing.T) {
	t.Parallel()
	forEachSet(t, func(t *testing.T, _, values string) {
		t.Helper()
		objects := render(t, values)
		for i := range objects {
			if objects[i].Kind == "StatefulSet" {
				return // its claims are no volumes of the pod
			}
		}
		for _, p := range pods(t, objects) {
			var have, mounted []string
			for _, v := range p.spec.Volumes {
				have = append(have, v.Name)
			}
			for _, m := range p.spec.Containers[0].VolumeMounts {
				mounted = append(mounted, m.Name)
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(have)), slices.Sorted(slices.Values(mounted))); diff != "" {
				t.Errorf("%s: volumes and mounts differ:\n%s", p.owner, diff)
			}
		}
	})
}
