package gpu

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// tell gives the devices of a page as lines: "uuid instance series{labels} value", without what is the same for all.
func tell(devices []Device) []string {
	var out []string
	for i := range devices {
		d := &devices[i]
		for _, s := range d.Samples {
			if s.Name == seriesXIDErrors && s.Value == 0 {
				continue
			}
			name := strings.TrimPrefix(s.Name, "aiperf_gpu_")
			if len(s.Labels) > 0 {
				name += "{" + strings.Join(s.Labels, ",") + "}"
			}
			out = append(out, strings.TrimSpace(strings.Join([]string{d.Hostname, d.UUID, d.Instance}, " "))+" "+name+" "+fmt.Sprint(s.Value))
		}
	}
	return out
}

func TestPagesAreReadAsTheyAreSpelled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		dialect *dialect
		prefix  string
		page    string
		want    []string
	}{
		{
			"the host name has an old and a new spelling", &dcgm, "", `
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a",hostname="new"} 400
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-b",Hostname="old"} 300`,
			[]string{"new GPU-a power_watts 400", "old GPU-b power_watts 300"},
		},
		{
			"the UUID has three", &dcgm, "", `
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a"} 1
DCGM_FI_DEV_POWER_USAGE{gpu="1",uuid="GPU-b"} 2
DCGM_FI_DEV_POWER_USAGE{gpu="2",gpu_uuid="GPU-c"} 3`,
			[]string{"GPU-a power_watts 1", "GPU-b power_watts 2", "GPU-c power_watts 3"},
		},
		{
			"GPUs of two hosts behind one address are told apart, with and without UUIDs", &dcgm, "", `
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a",hostname="one"} 1
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-b",hostname="two"} 2
DCGM_FI_DEV_POWER_USAGE{gpu="0",hostname="three"} 3
DCGM_FI_DEV_POWER_USAGE{gpu="0",hostname="four"} 4`,
			[]string{"one GPU-a power_watts 1", "two GPU-b power_watts 2", "three power_watts 3", "four power_watts 4"},
		},
		{
			"MIG instances are told apart, and what each of them repeats of the GPU is the GPU's", &dcgm, "", `
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a",GPU_I_ID="1"} 52.6
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a",GPU_I_ID="2"} 52.7
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-a",GPU_I_ID="1"} 1
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-a",GPU_I_ID="2"} 2`,
			[]string{"GPU-a power_watts 52.6", "GPU-a 1 memory_used_bytes 1.048576e+06", "GPU-a 2 memory_used_bytes 2.097152e+06"},
		},
		{
			"blanks of DCGM are absent", &dcgm, "", `
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a"} 140737488355328
DCGM_FI_DEV_POWER_USAGE{gpu="1",UUID="GPU-b"} 1.40737488355330e+14
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-a"} 2147483632
DCGM_FI_DEV_GPU_TEMP{gpu="1",UUID="GPU-b"} 2147483647
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0",UUID="GPU-a"} 9223372036854775792
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="1",UUID="GPU-b"} 9223372036854775794
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="2",UUID="GPU-c"} 2147483648
DCGM_FI_DEV_RETIRED_SBE{gpu="0",UUID="GPU-a"} 9223372036854775807`,
			[]string{"GPU-c energy_joules_total 2.147483648e+06"},
		},
		{
			"what cannot be is absent", &dcgm, "", `
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a"} -1
DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-a"} NaN
DCGM_FI_DEV_MEM_CLOCK{gpu="0",UUID="GPU-a"} +Inf
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-a"} -274
DCGM_FI_DEV_MEMORY_TEMP{gpu="0",UUID="GPU-a"} -20
DCGM_FI_DEV_PSTATE{gpu="0",UUID="GPU-a"} 32`,
			[]string{"GPU-a memory_temperature_celsius -20"},
		},
		{
			"the total of the memory is its own field where there is one", &dcgm, "", `
DCGM_FI_DEV_FB_TOTAL{gpu="0",UUID="GPU-a"} 100
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-a"} 30
DCGM_FI_DEV_FB_FREE{gpu="0",UUID="GPU-a"} 60
DCGM_FI_DEV_FB_RESERVED{gpu="0",UUID="GPU-a"} 5`,
			[]string{"GPU-a memory_used_bytes 3.145728e+07", "GPU-a memory_free_bytes 6.291456e+07", "GPU-a memory_total_bytes 1.048576e+08"},
		},
		{
			"else it is what is used, free and reserved, and unknown without one of the first two", &dcgm, "", `
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-a"} 30
DCGM_FI_DEV_FB_FREE{gpu="0",UUID="GPU-a"} 60
DCGM_FI_DEV_FB_RESERVED{gpu="0",UUID="GPU-a"} 10
DCGM_FI_DEV_FB_USED{gpu="1",UUID="GPU-b"} 30
DCGM_FI_DEV_FB_RESERVED{gpu="1",UUID="GPU-b"} 10`,
			[]string{
				"GPU-a memory_used_bytes 3.145728e+07", "GPU-a memory_free_bytes 6.291456e+07", "GPU-a memory_total_bytes 1.048576e+08",
				"GPU-b memory_used_bytes 3.145728e+07",
			},
		},
		{
			"a GPU that two pods share is not added up", &dcgm, "", `
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-a",pod="one"} 30
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-a",pod="two"} 30
DCGM_FI_DEV_FB_FREE{gpu="0",UUID="GPU-a",pod="one"} 70
DCGM_FI_DEV_FB_FREE{gpu="0",UUID="GPU-a",pod="two"} 70`,
			[]string{"GPU-a memory_used_bytes 3.145728e+07", "GPU-a memory_free_bytes 7.340032e+07", "GPU-a memory_total_bytes 1.048576e+08"},
		},
		{
			"the rate of NVLink is that of both directions, by whichever fields", &dcgm, "", `
DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL{gpu="0",UUID="GPU-a"} 3
DCGM_FI_PROF_NVLINK_TX_BYTES{gpu="0",UUID="GPU-a"} 9
DCGM_FI_PROF_NVLINK_RX_BYTES{gpu="0",UUID="GPU-a"} 9
DCGM_FI_PROF_NVLINK_TX_BYTES{gpu="1",UUID="GPU-b"} 100
DCGM_FI_PROF_NVLINK_RX_BYTES{gpu="1",UUID="GPU-b"} 11
DCGM_FI_PROF_NVLINK_TX_BYTES{gpu="2",UUID="GPU-c"} 100`,
			[]string{"GPU-a nvlink_bytes_per_second 3e+06", "GPU-b nvlink_bytes_per_second 111"},
		},
		{
			"a link that does not exist is not down", &dcgm, "", `
DCGM_EXP_P2P_STATUS{gpu="0",UUID="GPU-a",peer_gpu="1",link_status="OK"} 0
DCGM_EXP_P2P_STATUS{gpu="0",UUID="GPU-a",peer_gpu="2",link_status="TopologyNotSupported"} 2
DCGM_EXP_P2P_STATUS{gpu="0",UUID="GPU-a",peer_gpu="3",link_status="DisabledByRegKey"} 3`,
			[]string{"GPU-a nvlink_up{1} 1", "GPU-a nvlink_up{3} 0"},
		},
		{
			"a GPU is healthy if all that is watched is", &dcgm, "", `
DCGM_EXP_GPU_HEALTH_STATUS{gpu="0",UUID="GPU-a",health_watch="PCIE"} 0
DCGM_EXP_GPU_HEALTH_STATUS{gpu="0",UUID="GPU-a",health_watch="MEM"} 10
DCGM_EXP_GPU_HEALTH_STATUS{gpu="0",UUID="GPU-a",health_watch="SM"} 0
DCGM_EXP_GPU_HEALTH_STATUS{gpu="1",UUID="GPU-b",health_watch="PCIE"} 0`,
			[]string{"GPU-a health 0", "GPU-b health 1"},
		},
		{
			"switches and processors are no GPUs", &dcgm, "", `
DCGM_FI_DEV_GPU_TEMP{nvswitch="0",hostname="one"} 50`,
			nil,
		},
		{
			"AMD's names may have amd_ before them", &amd, "", `
amd_gpu_package_power{gpu_id="0",gpu_uuid="u"} 540`,
			[]string{"u power_watts 540"},
		},
		{
			"or what the site has chosen", &amd, "site_", `
site_gpu_package_power{gpu_id="0",gpu_uuid="u"} 540
other_gpu_package_power{gpu_id="1",gpu_uuid="v"} 540`,
			[]string{"u power_watts 540"},
		},
		{
			"power of AMD has three names, the first that there is counts", &amd, "", `
gpu_power_usage{gpu_id="0",gpu_uuid="u"} 1
gpu_average_package_power{gpu_id="0",gpu_uuid="u"} 2
gpu_power_usage{gpu_id="1",gpu_uuid="v"} 3`,
			[]string{"u power_watts 2", "v power_watts 3"},
		},
		{
			"without UUIDs AMD's GPUs have their serial number", &amd, "", `
gpu_package_power{gpu_id="0",serial_number="69",hostname="one"} 540`,
			[]string{"one 69 power_watts 540"},
		},
		{
			"of partitions only the first knows the power, and 0 of the others is none", &amd, "", `
gpu_package_power{gpu_id="0",gpu_uuid="u",gpu_compute_partition_type="CPX",gpu_partition_id="1"} 0
gpu_package_power{gpu_id="0",gpu_uuid="u",gpu_compute_partition_type="CPX",gpu_partition_id="0"} 310
gpu_prof_sm_active{gpu_id="0",gpu_uuid="u",gpu_compute_partition_type="CPX",gpu_partition_id="0"} 50
gpu_prof_sm_active{gpu_id="0",gpu_uuid="u",gpu_compute_partition_type="CPX",gpu_partition_id="1"} 25`,
			[]string{"u power_watts 310", "u 0 sm_active_ratio 0.5", "u 1 sm_active_ratio 0.25"},
		},
		{
			"what AMD's library does not know has all bits set", &amd, "", `
gpu_package_power{gpu_id="0",gpu_uuid="u"} 65535
gpu_energy_consumed{gpu_id="0",gpu_uuid="u"} 1.8446744073709552e+19
gpu_junction_temperature{gpu_id="0",gpu_uuid="u"} 4294967295
gpu_used_vram{gpu_id="0",gpu_uuid="u"} 65535`,
			[]string{"u memory_used_bytes 6.871842816e+10"},
		},
		{
			"clocks of AMD's chips are averaged, bytes of its links added up", &amd, "", `
gpu_clock{gpu_id="0",gpu_uuid="u",clock_type="GPU_CLOCK_TYPE_SYSTEM",clock_index="0"} 1000
gpu_clock{gpu_id="0",gpu_uuid="u",clock_type="GPU_CLOCK_TYPE_SYSTEM",clock_index="1"} 2000
gpu_clock{gpu_id="0",gpu_uuid="u",clock_type="GPU_CLOCK_TYPE_SYSTEM",clock_index="2"} 3000
gpu_clock{gpu_id="0",gpu_uuid="u",clock_type="GPU_CLOCK_TYPE_DATA",clock_index="3"} 9
gpu_xgmi_link_rx{gpu_id="0",gpu_uuid="u",link_index="0"} 1
gpu_xgmi_link_rx{gpu_id="0",gpu_uuid="u",link_index="1"} 2`,
			[]string{"u sm_clock_hertz 2e+09", "u nvlink_receive_bytes_total 3000"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, tell(read(t, c.dialect, c.prefix, c.page+"\n"))); diff != "" {
				t.Errorf("devices (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsKnownOfADeviceIsItsOwn(t *testing.T) {
	t.Parallel()
	page := `
DCGM_FI_DEV_POWER_USAGE{gpu="3",UUID="GPU-a",pci_bus_id="00000000:1B:00.0",modelName="H100",GPU_I_ID="7",GPU_I_PROFILE="1g.10gb",pod="one",namespace="n",container="c"} 1
DCGM_FI_DEV_FB_USED{gpu="3",UUID="GPU-a",GPU_I_ID="7",GPU_I_PROFILE="1g.10gb",pod="one",namespace="n",container="c"} 1
DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL{gpu="3",gpu_uuid="GPU-a",model_name="other",hostname="node",DCGM_FI_DRIVER_VERSION="570",DCGM_FI_DEV_VBIOS_VERSION="96"} 1
`
	var got []Device
	for _, d := range read(t, &dcgm, "", page) {
		d.Samples = nil
		got = append(got, d)
	}
	want := []Device{
		{
			Identity: Identity{Index: "3", UUID: "GPU-a", Hostname: "node"},
			Info:     Info{Model: "H100", PCIBusID: "00000000:1b:00.0", Vendor: "nvidia", DriverVersion: "570", VBIOSVersion: "96"},
		},
		{
			Identity: Identity{Index: "3", UUID: "GPU-a", Instance: "7"},
			Info:     Info{Vendor: "nvidia", Profile: "1g.10gb", Namespace: "n", Pod: "one", Container: "c"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
}

func TestClockEventsAreAllThereAsZeroOrOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mask uint64
		want []string // those that are 1
	}{
		{0, nil},
		{0x1, []string{"gpu_idle"}},
		{0x4 | 0x40, []string{"sw_power_cap", "hw_thermal_slowdown"}},
		{0x400, []string{"reliability"}},
		{0x800 | 1<<40, []string{"other"}},
	} {
		var active, all []string
		for _, s := range ClockEvents(c.mask) {
			all = append(all, s.Labels[0])
			if s.Value == 1 {
				active = append(active, s.Labels[0])
			} else if s.Value != 0 {
				t.Errorf("mask %#x: %s is %v, want 0 or 1", c.mask, s.Labels[0], s.Value)
			}
		}
		if diff := cmp.Diff(c.want, active); diff != "" {
			t.Errorf("mask %#x: active reasons (-want +got):\n%s", c.mask, diff)
		}
		if diff := cmp.Diff(ClockEventReasons, all); diff != "" {
			t.Errorf("mask %#x: reasons (-want +got):\n%s", c.mask, diff)
		}
	}
	page := `DCGM_FI_DEV_CLOCKS_EVENT_REASONS{gpu="0",UUID="GPU-a"} 4` + "\n"
	if got := read(t, &dcgm, "", page); len(got) != 1 || len(got[0].Samples) != len(ClockEventReasons) {
		t.Errorf("devices = %v, want one with all reasons", got)
	}
}

// TestRulesFitTheTable: a rule whose series or labels are not those of the table would panic in the middle of a scrape.
func TestRulesFitTheTable(t *testing.T) {
	t.Parallel()
	table := map[string]*metrics.Series{}
	for _, s := range Table() {
		table[s.Name] = &s
	}
	for name, d := range dialects {
		for i := range d.rules {
			r := &d.rules[i]
			if r.series == xidWindow || r.series == xidTotal {
				continue
			}
			s, ok := table[r.series]
			if !ok {
				t.Errorf("%s: %v: no series %s in the table", name, r.families, r.series)
				continue
			}
			labels := len(r.labels)
			if r.expand != nil {
				labels = len(r.expand(0)[0].Labels)
			}
			if labels != len(s.Labels) {
				t.Errorf("%s: %v: %d values of labels, want %d", name, r.families, labels, len(s.Labels))
				continue
			}
			for j, v := range r.labels {
				if known := s.Labels[j].Values; known != nil && !slices.Contains(known, v) {
					t.Errorf("%s: %v: %s=%q is none of %q", name, r.families, s.Labels[j].Name, v, known)
				}
			}
			if empty := slices.Index(r.labels, ""); r.from != "" && empty < 0 {
				t.Errorf("%s: %v: no place for the value of %s", name, r.families, r.from)
			}
		}
	}
}

func TestTableIsInBaseUnits(t *testing.T) {
	t.Parallel()
	for _, s := range Table() {
		if (s.Kind == metrics.Counter) != strings.HasSuffix(s.Name, "_total") {
			t.Errorf("%s is a %s", s.Name, s.Kind)
		}
		if strings.Contains(s.Name, "percent") || strings.Contains(s.Name, "mhz") || strings.Contains(s.Name, "mib") {
			t.Errorf("%s is not in a base unit", s.Name)
		}
	}
}

// FuzzPage: whatever an exporter says, what is made of it can be shown, and is neither NaN nor told twice.
func FuzzPage(f *testing.F) {
	f.Add(`DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a",GPU_I_ID="1"} 52.6`, "")
	f.Add("gpu_clock{gpu_id=\"0\",clock_type=\"GPU_CLOCK_TYPE_SYSTEM\"} 1\namd_gpu_clock{gpu_id=\"0\",clock_type=\"GPU_CLOCK_TYPE_SYSTEM\"} 2", "amd_")
	f.Add("DCGM_EXP_XID_ERRORS_COUNT{gpu=\"0\",xid=\"79\"} 1\nDCGM_EXP_XID_ERRORS_TOTAL{gpu=\"0\",xid=\"-1\"} 1e300", "")
	f.Add("gpu_package_power{gpu_id=\"0\"} 1e305\ngpu_used_vram{gpu_id=\"0\"} 1e308", "")
	f.Add("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{gpu=\"0\"} 1e19\nnv_gpu_utilization{gpu_uuid=\"\"} 1", "x_")
	f.Fuzz(func(t *testing.T, text, prefix string) {
		page, err := exposition.NewParser(1000).Parse([]byte(text+"\n"), "")
		if err != nil {
			return
		}
		var history xidHistory
		for name, d := range dialects {
			devices := d.devices(page, prefix)
			history.count(devices, 0)
			seen := map[string]bool{}
			for _, line := range lines(t, fed(t, nil, Reading{Source: name, State: OK, Devices: devices}), 0) {
				series := line[:strings.LastIndexByte(line, ' ')]
				if seen[series] {
					t.Errorf("%s is there twice", series)
				}
				seen[series] = true
			}
			for i := range devices {
				for _, s := range devices[i].Samples {
					if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
						t.Errorf("%s is %v", s.Name, s.Value)
					}
				}
			}
		}
	})
}
