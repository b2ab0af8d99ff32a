package gpu

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// messages are the texts of findings.
func messages(errs []error) []string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Error())
	}
	return out
}

// onTwoNodes are a whole GPU and one with two instances, as dcgm-exporter and as the driver tell of them.
func onTwoNodes() []Reading {
	whole := Device{Identity: Identity{Index: "0", UUID: "GPU-a", Hostname: "node-1"}, Info: Info{Pod: "vllm-0"}}
	parent := Device{Identity: Identity{Index: "1", UUID: "GPU-b", Hostname: "node-2"}}
	part := func(uuid, instance, pod string) Device {
		return Device{Identity: Identity{Index: "1", UUID: uuid, Hostname: "node-2", Instance: instance}, Info: Info{Pod: pod}}
	}
	return []Reading{
		{Source: NVML, State: OK, Devices: []Device{parent, part("MIG-x", "1", ""), part("MIG-y", "2", "")}},
		{Source: DCGM, State: OK, Devices: []Device{whole, parent, part("GPU-b", "1", "tgi-0"), part("GPU-b", "2", "tgi-1")}},
	}
}

func TestTargetsHaveTheGPUsThatTheySelect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		targets map[string]Selector
		want    []string // target uuid/instance
	}{
		{
			"the only target has all without saying so",
			map[string]Selector{"chat": {}},
			[]string{"chat GPU-a", "chat GPU-b", "chat GPU-b/1", "chat GPU-b/2", "chat MIG-x/1", "chat MIG-y/2"},
		},
		{"of several targets those that say nothing have none", map[string]Selector{"chat": {}, "code": {UUIDs: []string{"GPU-a"}}}, []string{"code GPU-a"}},
		{
			"instances come along with their GPU, also those with an UUID of their own",
			map[string]Selector{"chat": {UUIDs: []string{"GPU-b"}}},
			[]string{"chat GPU-b", "chat GPU-b/1", "chat GPU-b/2", "chat MIG-x/1", "chat MIG-y/2"},
		},
		{
			"instances of one GPU may serve two targets",
			map[string]Selector{"chat": {UUIDs: []string{"MIG-x", "GPU-b/1"}}, "code": {UUIDs: []string{"GPU-b/2"}}},
			[]string{"chat GPU-b/1", "chat MIG-x/1", "code GPU-b/2", "code MIG-y/2"},
		},
		{"a host is meant as a whole name", map[string]Selector{"chat": {Hostname: "node"}, "code": {Hostname: "node-1|other"}}, []string{"code GPU-a"}},
		{"a pod is", map[string]Selector{"chat": {Pod: "tgi-.*"}, "code": {Pod: "vllm"}}, []string{"chat GPU-b/1", "chat GPU-b/2"}},
		{"all that is given must hold", map[string]Selector{"chat": {Hostname: "node-2", Pod: "vllm-.*"}, "code": {Hostname: "node-2", Pod: "tgi-1"}}, []string{"code GPU-b/2"}},
		{"where two fit the first by name has it", map[string]Selector{"b": {Hostname: "node-1"}, "a": {Pod: "vllm-0"}}, []string{"a GPU-a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, line := range about(lines(t, fed(t, c.targets, onTwoNodes()...), 0), seriesTargetGPU) {
				part := func(label string) string {
					_, rest, _ := strings.Cut(line, label+`="`)
					v, _, _ := strings.Cut(rest, `"`)
					return v
				}
				id := part("uuid")
				if instance := part("mig_instance"); instance != "" {
					id += "/" + instance
				}
				got = append(got, part("target")+" "+id)
			}
			less := func(a, b string) bool { return a < b }
			if diff := cmp.Diff(c.want, got, sorted(less)); diff != "" {
				t.Errorf("series (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOneSourceOfEachGPUIsPreferred(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for _, s := range fed(t, nil, append(onTwoNodes(), Reading{Source: Triton, State: OK, Devices: []Device{{Identity: Identity{UUID: "GPU-a"}}, {Identity: Identity{UUID: "GPU-c"}}}})...).sightings() {
		key := strings.TrimSuffix(s.UUID+"/"+s.Instance, "/") + " " + string(s.source)
		got[key] = map[bool]string{true: "preferred", false: "-"}[s.preferred]
	}
	want := map[string]string{
		"GPU-b nvml": "preferred", "MIG-x/1 nvml": "preferred", "MIG-y/2 nvml": "preferred",
		"GPU-a dcgm": "preferred", "GPU-b dcgm": "-", "GPU-b/1 dcgm": "-", "GPU-b/2 dcgm": "-",
		"GPU-a triton": "-", "GPU-c triton": "preferred",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("preferred (-want +got):\n%s", diff)
	}
}

func TestOverlapsAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		selectors map[string]Selector
		want      []string
	}{
		{"different GPUs do not", map[string]Selector{"targets[0].gpus": {UUIDs: []string{"GPU-a"}}, "targets[1].gpus": {UUIDs: []string{"GPU-ab"}}}, nil},
		{
			"the same GPU does",
			map[string]Selector{"targets[0].gpus": {UUIDs: []string{"GPU-b", "GPU-a"}}, "targets[1].gpus": {UUIDs: []string{"GPU-c", "GPU-a"}}},
			[]string{"targets[1].gpus.uuids[1]: GPU-a already serves targets[0]"},
		},
		{
			"an instance of it does, two of its instances do not",
			map[string]Selector{"targets[0].gpus": {UUIDs: []string{"GPU-a/1"}}, "targets[1].gpus": {UUIDs: []string{"GPU-a/2"}}, "targets[2].gpus": {UUIDs: []string{"GPU-a"}}},
			[]string{"targets[2].gpus.uuids[0]: GPU-a already serves targets[0]"},
		},
		{"expressions are not compared", map[string]Selector{"targets[0].gpus": {Hostname: "a"}, "targets[1].gpus": {Hostname: "a"}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, messages(Overlaps(c.selectors))); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
