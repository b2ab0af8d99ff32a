package gpu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestXIDErrorsAreCounted(t *testing.T) {
	t.Parallel()
	last := func(code int) string {
		return fmt.Sprintf(`DCGM_FI_DEV_XID_ERRORS{gpu="0",UUID="GPU-a",err_code="%d",err_msg="text"} %[1]d`, code)
	}
	window := func(code, n int) string {
		return fmt.Sprintf(`DCGM_EXP_XID_ERRORS_COUNT{gpu="0",UUID="GPU-a",window_size_in_ms="300000",xid="%d"} %d`, code, n)
	}
	total := func(code, n int) string {
		return fmt.Sprintf(`DCGM_EXP_XID_ERRORS_TOTAL{gpu="0",UUID="GPU-a",xid="%d"} %d`, code, n)
	}
	const power = `DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a"} 1`
	const quiet = `DCGM_EXP_XID_ERRORS_COUNT{gpu="0",UUID="GPU-a",window_size_in_ms="300000"} 0`
	for _, c := range []struct {
		name  string
		pages []string
		want  []string // after the last page, those that are not 0
	}{
		{"a code that was there before is no new error", []string{last(79)}, []string{"last_xid 79"}},
		{"a change of the code to 79 is one error, not 79", []string{last(0), last(79), last(79)}, []string{"last_xid 79", "xid_errors_total{79} 1"}},
		{"a change to 0 is none", []string{last(79), last(0)}, []string{"last_xid 0"}},
		{"each change to a code is one", []string{last(0), last(79), last(31), last(79)}, []string{"last_xid 79", "xid_errors_total{31} 1", "xid_errors_total{79} 2"}},
		{"the field may only appear with the first error", []string{power, power + "\n" + last(79)}, []string{"power_watts 1", "last_xid 79", "xid_errors_total{79} 1"}},
		{"errors of a window are counted as they come, not as they go", []string{quiet, window(31, 2), window(31, 3), window(31, 1), quiet, window(31, 1)}, []string{"xid_errors_total{31} 4"}},
		{"what is in the window at the first look is not counted", []string{window(31, 2), window(31, 3)}, []string{"xid_errors_total{31} 1"}},
		{
			"the window is taken before the last code",
			[]string{last(0) + "\n" + quiet, last(31) + "\n" + window(31, 5), last(31) + "\n" + quiet},
			[]string{"last_xid 31", "xid_errors_total{31} 5"},
		},
		{"the exporter's own total is taken as it is", []string{total(31, 7) + "\n" + window(31, 1) + "\n" + last(31)}, []string{"last_xid 31", "xid_errors_total{31} 7"}},
		{"a code that cannot be is none", []string{last(0), last(1000)}, []string{"last_xid 1000"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var h xidHistory
			var got []string
			for i, page := range c.pages {
				devices := read(t, &dcgm, "", page+"\n")
				h.count(devices, int64(i))
				got = tell(devices)
			}
			for i := range got {
				got[i] = strings.TrimPrefix(got[i], "GPU-a ")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("samples (-want +got):\n%s", diff)
			}
		})
	}
}

func TestXIDsThatAlertsAskForBeginAtZero(t *testing.T) {
	t.Parallel()
	devices := read(t, &dcgm, "", `DCGM_FI_DEV_XID_ERRORS{gpu="0",UUID="GPU-a"} 0`+"\n")
	new(xidHistory).count(devices, 0)
	at := map[string]bool{}
	for _, s := range devices[0].Samples {
		if s.Name == seriesXIDErrors {
			at[s.Labels[0]] = true
		}
	}
	if !at["79"] || !at["31"] || at["0"] || len(at) != len(watchedXIDs) {
		t.Errorf("codes = %v, want those of alerts, and not 0", at)
	}
}

func TestAnExporterThatTellsNoXIDHasNoCounter(t *testing.T) {
	t.Parallel()
	devices := read(t, &dcgm, "", `DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a"} 1`+"\n")
	new(xidHistory).count(devices, 0)
	if diff := cmp.Diff([]string{"GPU-a power_watts 1"}, tell(devices)); diff != "" || len(devices[0].Samples) != 1 {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

func TestDevicesThatAreGoneAreForgotten(t *testing.T) {
	t.Parallel()
	var h xidHistory
	h.count([]Device{{Identity: Identity{UUID: "a"}}}, 0)
	h.count([]Device{{Identity: Identity{UUID: "b"}}}, int64(rememberDevice)+1)
	if len(h.devices) != 1 {
		t.Errorf("remembers %d devices, want 1", len(h.devices))
	}
	for i := range maxGone + 10 {
		h.count([]Device{{Identity: Identity{UUID: fmt.Sprint(i)}}}, int64(rememberDevice)+2+int64(i))
	}
	if len(h.devices) > maxGone+1 {
		t.Errorf("remembers %d devices, want at most %d that are gone", len(h.devices), maxGone)
	}
}
