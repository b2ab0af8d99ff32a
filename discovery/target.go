package discovery

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// Labels that become keys of a target. Others that begin with two underscores are gone after relabelling, all others are labels of it.
const (
	AddressLabel      = model.AddressLabel
	SchemeLabel       = model.SchemeLabel
	MetricsPathLabel  = model.MetricsPathLabel
	ParamPrefix       = model.ParamLabelPrefix
	NameLabel         = "__target_name__"
	ModelLabel        = "__model__"
	EndpointTypeLabel = "__endpoint_type__"
	WorkloadLabel     = "__workload__"
	LoadLabel         = "__load__"
)

// Target is one that was found and not dropped by relabelling.
type Target struct {
	// Name is __target_name__, or made of the set and the labels.
	Name string
	// Labels are those after relabelling, without __meta_*.
	Labels map[string]string
	// Discovered are those before, as Shown gives them.
	Discovered map[string]string
	// Origin is who told of it, such as a file and the index of a group in it.
	Origin string
	// Missing is since when it is not found any more, zero if it is found.
	Missing time.Time
	// Used tells that a target of its name is in use: newcomers do not take its place.
	Used bool
}

// Set is what there is of one entry of target_discovery.
type Set struct {
	Name string
	// Targets that are found come first, then those that are missing and in their grace; both by name and labels.
	Targets []Target
	// Dropped are those that relabelling dropped, at most maxDropped of them; Relabelled counts all.
	Dropped    []Dropped
	Relabelled int
	// Groups is how many groups of targets there are.
	Groups int
	// Complete tells that every mechanism has answered once.
	Complete bool
	// LastRefresh is when the mechanism that answered longest ago has; when the set began, if one never has.
	LastRefresh time.Time
	// LastError is what is wrong now, secrets removed; "" if nothing is.
	LastError string
}

// Reason is why something that was discovered is not used.
type Reason string

// The reasons.
const (
	Relabelled       Reason = "relabelled"         // relabel_configs drop it
	Invalid          Reason = "invalid"            // no target can be made of its labels
	Duplicate        Reason = "duplicate"          // another target has its name
	MaxTargets       Reason = "max_targets"        // the set has as many as it may
	GlobalMaxTargets Reason = "global_max_targets" // all sets and the file together have
	MaxSeries        Reason = "max_series"         // it would have, or make all together have, too many series
)

// Reasons is the closed list.
var Reasons = []string{string(Relabelled), string(Invalid), string(Duplicate), string(MaxTargets), string(GlobalMaxTargets), string(MaxSeries)}

// Dropped is something that was discovered and is not used.
type Dropped struct {
	Set     string
	Name    string // "" if relabelling dropped it
	Address string
	// Labels are those before relabelling, as Shown gives them.
	Labels map[string]string
	Origin string
	Reason Reason
	Detail string // what is invalid
}

// nameHashBytes of a hash are in a name that nobody chose: 8 hexadecimal digits.
const nameHashBytes = 4

// MaxSetName is the longest name of a set for which the names of its targets fit into 63 characters.
const MaxSetName = 63 - 1 - 2*nameHashBytes

// nameOf is the identity of a target: the name that its labels give, or one that stays as long as its labels do. What Kubernetes writes into
// __meta_* changes too often to count.
func nameOf(set string, of map[string]string) string {
	if name := of[NameLabel]; name != "" {
		return name
	}
	hash := sha256.Sum256([]byte(labelText(of)))
	return set + "-" + hex.EncodeToString(hash[:nameHashBytes])
}

// labelText puts labels in the order of names, unmistakably.
func labelText(of map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(of)) {
		b.WriteString(strconv.Quote(name) + strconv.Quote(of[name]))
	}
	return b.String()
}

// withoutMeta gives labels as a map, without those that only relabelling needs.
func withoutMeta(of labels.Labels) map[string]string {
	out := map[string]string{}
	of.Range(func(l labels.Label) {
		if !strings.HasPrefix(l.Name, model.MetaLabelPrefix) {
			out[l.Name] = l.Value
		}
	})
	return out
}

// Shown gives labels as people may see them: without credentials, which do not belong there and which some inventories have all the same.
func Shown(of map[string]string) map[string]string {
	out := make(map[string]string, len(of))
	for name, value := range of {
		switch param, _ := strings.CutPrefix(name, ParamPrefix); {
		case value != "" && secret.SensitiveHeader(param):
			value = secret.Mask
		case name == AddressLabel && strings.ContainsAny(value, "@?"):
			value = secret.RedactURL(value)
		default:
			value = secret.RedactURLs(value)
		}
		out[name] = value
	}
	return out
}

// compareTargets puts missing ones behind, then goes by name and labels.
func compareTargets(a, b Target) int {
	switch {
	case a.Missing.IsZero() != b.Missing.IsZero():
		if a.Missing.IsZero() {
			return -1
		}
		return 1
	case a.Name != b.Name:
		return strings.Compare(a.Name, b.Name)
	}
	return strings.Compare(labelText(a.Labels), labelText(b.Labels))
}

// sameTargets tells whether two lists show the same.
func sameTargets(a, b []Target) bool {
	return slices.EqualFunc(a, b, func(x, y Target) bool { return compareTargets(x, y) == 0 })
}
