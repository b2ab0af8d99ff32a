package discovery

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// group is one with the labels of a group and its targets.
func group(source string, common model.LabelSet, targets ...model.LabelSet) *targetgroup.Group {
	return &targetgroup.Group{Source: source, Labels: common, Targets: targets}
}

func named(name string) model.LabelSet {
	return model.LabelSet{NameLabel: model.LabelValue(name), AddressLabel: "h:1"}
}

// shown is what a list of targets says of names and of which are missing.
func shown(targets []Target) []string {
	var out []string
	for _, t := range targets {
		text := t.Name
		if !t.Missing.IsZero() {
			text += " missing since " + t.Missing.Sub(noon).String()
		}
		out = append(out, text)
	}
	return out
}

func TestATargetThatVanishedStaysForItsGrace(t *testing.T) {
	t.Parallel()
	s := newSet(SetConfig{Name: "s", Grace: 2 * time.Minute}, noon)
	look := []struct {
		name    string
		after   time.Duration
		groups  []*targetgroup.Group // nil: nothing new is heard
		want    []string
		changed bool
	}{
		{"two are found", 0, []*targetgroup.Group{group("g", nil, named("a"), named("b"))}, []string{"a", "b"}, true},
		{"nothing happens", time.Second, []*targetgroup.Group{group("g", nil, named("b"), named("a"))}, []string{"a", "b"}, false},
		{"one vanishes", 10 * time.Second, []*targetgroup.Group{group("g", nil, named("b"))}, []string{"b", "a missing since 10s"}, true},
		{"it is still missing", 20 * time.Second, []*targetgroup.Group{group("g", nil, named("b"))}, []string{"b", "a missing since 10s"}, false},
		{"it flaps", 30 * time.Second, []*targetgroup.Group{group("g", nil, named("b"), named("a"))}, []string{"a", "b"}, true},
		{"all vanish", time.Minute, []*targetgroup.Group{}, []string{"a missing since 1m0s", "b missing since 1m0s"}, true},
		{"just before the grace is over", 3*time.Minute - 1, nil, []string{"a missing since 1m0s", "b missing since 1m0s"}, false},
		{"the grace is over", 3 * time.Minute, nil, nil, true},
		{"a new one comes", 4 * time.Minute, []*targetgroup.Group{group("g", nil, named("a"))}, []string{"a"}, true},
	}
	for _, step := range look {
		now := noon.Add(step.after)
		var changed bool
		if step.groups != nil {
			changed = s.sync(step.groups, now)
		} else {
			changed = s.expire(now)
		}
		if changed != step.changed {
			t.Errorf("%s: changed is %v, want %v", step.name, changed, step.changed)
		}
		if diff := cmp.Diff(step.want, shown(s.targets)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

func TestATargetThatMovedIsNotMissing(t *testing.T) {
	t.Parallel()
	s := newSet(SetConfig{Name: "s", Grace: time.Minute}, noon)
	at := func(address string) []*targetgroup.Group {
		return []*targetgroup.Group{group("g", nil, model.LabelSet{NameLabel: "pod-0", AddressLabel: model.LabelValue(address)})}
	}
	s.sync(at("10.0.0.1:80"), noon)
	if !s.sync(at("10.0.0.2:80"), noon.Add(time.Second)) {
		t.Error("another address is no change")
	}
	if len(s.targets) != 1 || s.targets[0].Labels[AddressLabel] != "10.0.0.2:80" {
		t.Errorf("got %+v", s.targets)
	}
}

func TestWithoutGraceATargetGoesAtOnce(t *testing.T) {
	t.Parallel()
	s := newSet(SetConfig{Name: "s"}, noon)
	s.sync([]*targetgroup.Group{group("g", nil, named("a"))}, noon)
	if s.sync(nil, noon); len(s.targets) != 0 {
		t.Errorf("got %v", shown(s.targets))
	}
}

func TestTheNextExpiryIsThatOfTheTargetThatVanishedFirst(t *testing.T) {
	t.Parallel()
	s := newSet(SetConfig{Name: "s", Grace: time.Minute}, noon)
	if _, ok := s.nextExpiry(); ok {
		t.Error("nothing is missing")
	}
	s.sync([]*targetgroup.Group{group("g", nil, named("a"), named("b"), named("c"))}, noon)
	s.sync([]*targetgroup.Group{group("g", nil, named("a"), named("b"))}, noon.Add(time.Second))
	s.sync([]*targetgroup.Group{group("g", nil, named("b"))}, noon.Add(2*time.Second))
	if at, ok := s.nextExpiry(); !ok || !at.Equal(noon.Add(61*time.Second)) {
		t.Errorf("got %v, %v", at, ok)
	}
}

func TestRelabellingNamesAndDropsTargets(t *testing.T) {
	t.Parallel()
	s := newSet(SetConfig{Name: "s", Grace: time.Minute, Relabel: steps(
		t,
		"source_labels: [__meta_ready]\nregex: \"true\"\naction: keep\n",
		"source_labels: [__meta_model]\ntarget_label: __model__\n",
		"regex: __meta_label_(.+)\naction: labelmap\n",
	)}, noon)
	s.sync([]*targetgroup.Group{group("file.json:0", model.LabelSet{"__meta_ready": "true", "__meta_model": "m", "team": "of the group"},
		model.LabelSet{AddressLabel: "a:1", "team": "ml", "__meta_label_zone": "z1", "empty": ""},
		model.LabelSet{AddressLabel: "b:1", "__meta_ready": "false"},
	)}, noon)
	want := []Target{{
		// printf '"__address__""a:1""__model__""m""team""ml""zone""z1"' | sha256sum
		Name:       "s-97185364",
		Labels:     map[string]string{AddressLabel: "a:1", "team": "ml", "zone": "z1", ModelLabel: "m"},
		Discovered: map[string]string{AddressLabel: "a:1", "team": "ml", "__meta_label_zone": "z1", "__meta_ready": "true", "__meta_model": "m"},
		Origin:     "file.json:0",
	}}
	if diff := cmp.Diff(want, s.targets); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	dropped := []Dropped{{
		Set: "s", Address: "b:1", Origin: "file.json:0", Reason: Relabelled,
		Labels: map[string]string{AddressLabel: "b:1", "team": "of the group", "__meta_ready": "false", "__meta_model": "m"},
	}}
	if diff := cmp.Diff(dropped, s.show().Dropped); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
}

func TestTheNameOfATargetDoesNotChangeWithMetaLabels(t *testing.T) {
	t.Parallel()
	s := newSet(SetConfig{Name: "s", Grace: time.Minute}, noon)
	with := func(annotation string) []*targetgroup.Group {
		return []*targetgroup.Group{group("g", nil, model.LabelSet{AddressLabel: "a:1", "__meta_annotation": model.LabelValue(annotation)})}
	}
	s.sync(with("one"), noon)
	first := s.targets[0].Name
	if s.sync(with("two"), noon) {
		t.Error("an annotation is a change")
	}
	if len(s.targets) != 1 || s.targets[0].Name != first {
		t.Errorf("got %v, want %s", shown(s.targets), first)
	}
}

func TestDroppedTargetsAreCountedAllAndKeptInPart(t *testing.T) {
	t.Parallel()
	s := newSet(SetConfig{Name: "s", Relabel: steps(t, "action: drop\nsource_labels: [__address__]\nregex: .*\n")}, noon)
	var many []model.LabelSet
	for range 3 * maxDropped {
		many = append(many, named("x"))
	}
	s.sync([]*targetgroup.Group{group("g", nil, many...)}, noon)
	if got := s.show(); len(got.Dropped) != maxDropped || got.Relabelled != 3*maxDropped {
		t.Errorf("kept %d and counted %d", len(got.Dropped), got.Relabelled)
	}
}

func TestRelabellingThatDropsATargetNowIsMeant(t *testing.T) {
	t.Parallel()
	config := SetConfig{Name: "s", Grace: time.Minute}
	s := newSet(config, noon)
	s.sync([]*targetgroup.Group{group("g", nil, named("a"), named("b"), named("gone"))}, noon)
	s.sync([]*targetgroup.Group{group("g", nil, named("a"), named("b"))}, noon)
	config.Relabel = steps(t, "action: drop\nsource_labels: [__target_name__]\nregex: a\n")
	if !s.configure(config, noon) {
		t.Error("nothing changed")
	}
	if diff := cmp.Diff([]string{"b", "gone missing since 0s"}, shown(s.targets)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCredentialsInLabelsAreNotShown(t *testing.T) {
	t.Parallel()
	found := model.LabelSet{
		AddressLabel: "joe:hunter22@10.0.0.1:8000/v1?key=hunter22", "__param_api_key": "hunter22", "__param_key": "hunter22", "__param_model": "m",
		"__meta_console": "https://joe:hunter22@console.example/?sig=hunter22", "team": "ml", "x_token": "",
	}
	want := map[string]string{
		AddressLabel: "10.0.0.1:8000/v1?key=<redacted>", "__param_api_key": "<secret>", "__param_key": "<secret>", "__param_model": "m",
		"__meta_console": "https://console.example/?sig=<redacted>", "team": "ml",
	}
	s := newSet(SetConfig{Name: "s"}, noon)
	s.sync([]*targetgroup.Group{group("g", nil, found)}, noon)
	if diff := cmp.Diff(want, s.targets[0].Discovered); diff != "" {
		t.Errorf("of one that is kept (-want +got):\n%s", diff)
	}
	if got := s.targets[0].Labels["__param_key"]; got != "hunter22" {
		t.Errorf("what is used of it is %q", got)
	}
	s = newSet(SetConfig{Name: "s", Relabel: steps(t, "action: drop\nsource_labels: [team]\nregex: ml\n")}, noon)
	s.sync([]*targetgroup.Group{group("g", nil, found)}, noon)
	if diff := cmp.Diff(want, s.dropped[0].Labels); diff != "" || s.dropped[0].Address != want[AddressLabel] {
		t.Errorf("of one that is dropped, at %q (-want +got):\n%s", s.dropped[0].Address, diff)
	}
}
