package mapping

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

func TestKindsAreToldByTheNamesOfFamilies(t *testing.T) {
	t.Parallel()
	const other = "# TYPE python_info gauge\npython_info 1\n"
	for _, tt := range []struct {
		name string
		kind Kind
		page string
		want []Kind
	}{
		{"vLLM with colons", Auto, family("gauge", "vllm:x", " 1"), []Kind{VLLM}},
		{"vLLM without colons", Auto, family("gauge", "vllm_x", " 1"), []Kind{VLLM}},
		{"vLLM in Ray", Auto, family("gauge", "ray_vllm_x", " 1"), []Kind{VLLM}},
		{"SGLang with colons", Auto, family("gauge", "sglang:x", " 1"), []Kind{SGLang}},
		{"SGLang in Ray", Auto, family("gauge", "ray_sglang_x", " 1"), []Kind{SGLang}},
		{"TensorRT-LLM", Auto, family("gauge", "trtllm_x", " 1"), []Kind{TRTLLM}},
		{"Triton", Auto, family("counter", "nv_inference_count", " 1"), []Kind{Triton}},
		{"Triton's backend", Auto, family("gauge", "nv_trt_llm_request_metrics", " 1"), []Kind{Triton}},
		{"the GPUs of Triton alone", Auto, family("gauge", "nv_gpu_utilization", " 1"), nil},
		{
			"Dynamo's worker with the names of its engine", Auto, family("gauge", "sglang:x", " 1") + family("gauge", "dynamo_component_x", " 1"),
			[]Kind{Dynamo, SGLang},
		},
		{"TGI", Auto, family("gauge", "tgi_x", " 1"), []Kind{TGI}},
		{"LMDeploy", Auto, family("gauge", "lmdeploy:x", " 1"), []Kind{LMDeploy}},
		{"llama.cpp", Auto, family("gauge", "llamacpp:x", " 1"), []Kind{LlamaCPP}},
		{"NIM by both of its names", Auto, family("gauge", "gpu_cache_usage_perc", " 1") + family("gauge", "num_request_max", " 1"), []Kind{NIM}},
		{"half of NIM", Auto, family("gauge", "gpu_cache_usage_perc", " 1"), nil},
		{
			"NIM that shows vLLM's names, too", Auto,
			family("gauge", "num_request_max", " 1") + family("gauge", "vllm:x", " 1") + family("gauge", "gpu_cache_usage_perc", " 1"),
			[]Kind{VLLM, NIM},
		},
		{"nobody", Auto, other, nil},
		{"a configured kind is that kind alone", VLLM, family("gauge", "vllm:x", " 1") + family("gauge", "sglang:x", " 1"), []Kind{VLLM}},
		{"a configured NIM with vLLM's names", NIM, family("gauge", "vllm:x", " 1"), []Kind{VLLM, NIM}},
		{"a configured Dynamo with its engine", Dynamo, family("gauge", "trtllm_x", " 1") + family("gauge", "dynamo_x", " 1"), []Kind{Dynamo, TRTLLM}},
		{"Ray has the names of its engine", Ray, family("gauge", "ray_sglang_x", " 1"), []Kind{SGLang}},
		{"generic has none", Generic, family("gauge", "vllm:x", " 1"), nil},
	} {
		if diff := cmp.Diff(tt.want, mapText(t, &Options{Kind: tt.kind}, tt.page).Kinds); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestAPageOfAnotherServerIsForeign(t *testing.T) {
	t.Parallel()
	llama, gpus := family("gauge", "llamacpp:requests_processing", " 1"), family("gauge", "DCGM_FI_DEV_POWER_USAGE", " 1")
	rule := Rule{Series: "aiperf_server_requests_waiting", Family: "DCGM_FI_DEV_POWER_USAGE"}
	for _, tt := range []struct {
		name    string
		options Options
		page    string
		foreign bool
		kinds   []Kind
	}{
		{"that of the kind", Options{Kind: LlamaCPP}, llama, false, []Kind{LlamaCPP}},
		{"that of another kind", Options{Kind: VLLM}, llama, true, []Kind{LlamaCPP}},
		{"that of no server", Options{Kind: VLLM}, gpus, true, nil},
		{"that of no server, where the kind is to be found", Options{Kind: Auto}, gpus, true, nil},
		{"unless it is passed through", Options{Kind: Auto, Passthrough: Passthrough{Allow: []string{"DCGM_.*"}}}, gpus, false, nil},
		{"or a rule names one of its families", Options{Kind: VLLM, Rules: []Rule{rule}}, gpus, false, []Kind{VLLM}},
		{"families that no row names", Options{Kind: VLLM}, family("gauge", "vllm:x", " 1"), false, []Kind{VLLM}},
		{"a family of another type", Options{Kind: NIM}, family("histogram", "num_requests_running", " 1"), false, []Kind{NIM}},
		{"those of the engine inside", Options{Kind: Dynamo}, family("gauge", "vllm:x", " 1"), false, []Kind{Dynamo, VLLM}},
		{"those of the engine in Ray", Options{Kind: Ray}, family("gauge", "ray_vllm_x", " 1"), false, []Kind{VLLM}},
		{"Ray without an engine", Options{Kind: Ray}, family("gauge", "ray_x", " 1"), true, nil},
		{"whatever generic is", Options{Kind: Generic}, gpus, false, nil},
	} {
		got := mapText(t, &tt.options, tt.page)
		if diff := cmp.Diff(tt.kinds, got.Kinds); diff != "" || got.Foreign != tt.foreign {
			t.Errorf("%s: foreign %v, want %v, kinds (-want +got):\n%s", tt.name, got.Foreign, tt.foreign, diff)
		}
	}
	if New(Options{Kind: VLLM, Rules: []Rule{rule}}).Map(&exposition.Page{}).Foreign {
		t.Error("a page without families is foreign, want one that says nothing")
	}
}

func TestKindsAreToldAgainWhenThePageHasOtherFamilies(t *testing.T) {
	t.Parallel()
	m := New(Options{Kind: Auto, Model: "m"})
	for _, step := range []struct {
		page string
		want []string
	}{
		{family("gauge", "vllm:num_requests_running", " 1"), []string{"aiperf_server_requests_running{model=m,server=vllm} gauge 1"}},
		{family("gauge", "sglang:num_running_reqs", " 2"), []string{"aiperf_server_requests_running{model=m,server=sglang} gauge 2"}},
		{family("counter", "sglang:num_running_reqs", " 2"), nil},
		{family("gauge", "vllm:num_requests_running", " 3"), []string{"aiperf_server_requests_running{model=m,server=vllm} gauge 3"}},
	} {
		if diff := cmp.Diff(step.want, lines(m.Map(parse(t, step.page)).Normalised)); diff != "" {
			t.Errorf("%s: %s", step.page, diff)
		}
	}
}

func TestOneFamilyBecomesOneSeries(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		o    Options
		page string
		want []string
	}{
		{
			"a counter of OpenMetrics keeps its value",
			Options{Kind: VLLM},
			family("counter", "vllm:prompt_tokens", " 7"),
			[]string{"aiperf_server_prompt_tokens_total{server=vllm} counter 7"},
		},
		{
			"a family without a type is what it should be",
			Options{Kind: TGI},
			family("untyped", "tgi_request_success", " 7") + family("untyped", "tgi_queue_size", " 1"),
			[]string{"aiperf_server_requests_finished_total{reason=all,server=tgi} counter 7", "aiperf_server_requests_waiting{server=tgi} gauge 1"},
		},
		{
			"a gauge of Ray is a counter",
			Options{Kind: Ray},
			family("gauge", "ray_vllm_prompt_tokens_total", `{WorkerId="a"} 7`, `{WorkerId="b"} 3`),
			[]string{"aiperf_server_prompt_tokens_total{server=vllm} counter 10"},
		},
		{"a counter is no gauge", Options{Kind: VLLM}, family("counter", "vllm:num_requests_running", " 7"), nil},
		{"a histogram is no counter", Options{Kind: VLLM}, family("histogram", "vllm:prompt_tokens_total", " 7"), nil},
		{"a counter is no histogram", Options{Kind: VLLM}, family("counter", "vllm:iteration_tokens_total", " 7"), nil},
		{"_total of a gauge is a part of its name", Options{Kind: SGLang}, family("gauge", "sglang:lora_pool_slots", " 7"), nil},
		{
			"the model comes from model_name before model",
			Options{Kind: VLLM, Model: "m"},
			family("gauge", "vllm:num_requests_running", `{model="a",model_name="b"} 7`),
			[]string{"aiperf_server_requests_running{model=b,server=vllm} gauge 7"},
		},
		{
			"the model comes from model",
			Options{Kind: VLLM, Model: "m"},
			family("gauge", "vllm:num_requests_running", `{model="a"} 7`),
			[]string{"aiperf_server_requests_running{model=a,server=vllm} gauge 7"},
		},
		{
			"the engine comes from dp_rank",
			Options{Kind: SGLang},
			family("gauge", "sglang:num_running_reqs", `{dp_rank="3"} 7`),
			[]string{"aiperf_server_requests_running{engine=3,server=sglang} gauge 7"},
		},
		{
			"Dynamo under another prefix",
			Options{Kind: Auto, Prefix: "nim:llm"},
			family("gauge", "nim_llm_active_requests", " 7"),
			[]string{"aiperf_server_requests_running{server=dynamo} gauge 7"},
		},
		{"a number that is none is absent", Options{Kind: LlamaCPP}, family("gauge", "llamacpp:kv_cache_usage_ratio", " nan"), nil},
		{"infinity is absent", Options{Kind: VLLM}, family("gauge", "vllm:kv_cache_usage_perc", " +Inf"), nil},
		{"a counter below nothing is absent", Options{Kind: VLLM}, family("counter", "vllm:prompt_tokens_total", " -1"), nil},
		{
			"half a sum is absent",
			Options{Kind: SGLang},
			family("counter", "sglang:prompt_tokens_total", `{is_streaming="true"} 5`, `{is_streaming="false"} NaN`), nil,
		},
		{
			"a number in a label that is none is absent",
			Options{Kind: VLLM},
			family("gauge", "vllm:cache_config_info", `{block_size="16",num_gpu_blocks="None"} 1`),
			[]string{"aiperf_server_info{server=vllm} gauge 1", "aiperf_server_kv_cache_block_tokens{server=vllm} gauge 16"},
		},
		{
			"shares are not added",
			Options{Kind: Ray},
			family("gauge", "ray_vllm_kv_cache_usage_perc", `{replica="a"} 0.7`, `{replica="b"} 0.8`),
			[]string{"aiperf_server_kv_cache_usage_ratio{server=vllm} gauge 0.8"},
		},
		{
			"shares of the past are averaged",
			Options{Kind: Ray},
			family("gauge", "ray_vllm_gpu_prefix_cache_hit_rate", `{replica="a"} 0.25`, `{replica="b"} 0.75`),
			[]string{"aiperf_server_prefix_cache_hit_ratio{server=vllm} gauge 0.5"},
		},
		{
			"only the lowest rank of each engine is taken",
			Options{Kind: SGLang},
			family("gauge", "sglang:num_running_reqs",
				`{dp_rank="0",tp_rank="1"} 50`, `{dp_rank="0",tp_rank="0"} 5`, `{dp_rank="1",tp_rank="3"} 60`, `{dp_rank="1",tp_rank="2"} 6`,
				`{dp_rank="1",tp_rank="10"} 70`),
			[]string{"aiperf_server_requests_running{engine=0,server=sglang} gauge 5", "aiperf_server_requests_running{engine=1,server=sglang} gauge 6"},
		},
		{
			"a fallback is heard where the row before it told nothing",
			Options{Kind: VLLM},
			family("counter", "vllm:prefix_cache_hits_total", `{engine="0"} 5`, `{engine="1"} 6`) +
				family("counter", "vllm:prompt_tokens_cached_by_source_total", `{engine="0",source="device"} 3`, `{engine="0",source="host"} 2`),
			[]string{
				"aiperf_server_prefix_cache_hit_tokens_total{engine=0,server=vllm,tier=device} counter 3",
				"aiperf_server_prefix_cache_hit_tokens_total{engine=0,server=vllm,tier=host} counter 2",
				"aiperf_server_prefix_cache_hit_tokens_total{engine=1,server=vllm} counter 6",
			},
		},
		{
			"what all engines have together is not told beside what each has",
			Options{Kind: Dynamo},
			family("gauge", "dynamo_frontend_model_total_kv_blocks", ` 30`) +
				family("gauge", "dynamo_component_total_blocks", `{dp_rank="0"} 10`, `{dp_rank="1"} 20`),
			[]string{
				"aiperf_server_kv_cache_blocks{engine=0,server=dynamo,state=total} gauge 10",
				"aiperf_server_kv_cache_blocks{engine=1,server=dynamo,state=total} gauge 20",
			},
		},
		{"the latest of the states in labels holds", Options{Kind: VLLM}, family("gauge", "vllm:lora_requests_info",
			`{max_lora="1",running_lora_adapters="old",waiting_lora_adapters=""} 10`,
			`{max_lora="4",running_lora_adapters="a, b",waiting_lora_adapters="c"} 30`,
			`{max_lora="2",running_lora_adapters="x",waiting_lora_adapters="y,z"} 30`), []string{
			"aiperf_server_lora_info{adapter=a,server=vllm,state=running} gauge 1",
			"aiperf_server_lora_info{adapter=b,server=vllm,state=running} gauge 1",
			"aiperf_server_lora_info{adapter=c,server=vllm,state=waiting} gauge 1",
			"aiperf_server_lora_max_adapters{server=vllm} gauge 4",
			"aiperf_server_lora_running_adapters{server=vllm} gauge 2",
			"aiperf_server_lora_waiting_adapters{server=vllm} gauge 1",
		}},
	} {
		if diff := cmp.Diff(tt.want, lines(mapText(t, &tt.o, tt.page).Normalised)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestFamiliesThatAreNotMappedAreCounted(t *testing.T) {
	t.Parallel()
	page := family("gauge", "vllm:something_new", " 1") + family("counter", "vllm:num_requests_running", " 1") +
		family("gauge", "vllm:prompt_tokens_created", " 1") + family("histogram", "vllm:request_params_n", " 1") + family("gauge", "python_info", " 1") +
		family("gauge", "vllm:num_requests_waiting", " 1") + family("histogram", "vllm:generation_tokens_total", " 1")
	if diff := cmp.Diff(map[string]int{"unknown": 1, "type": 2}, mapText(t, &Options{Kind: Auto}, page).Unmapped); diff != "" {
		t.Error(diff)
	}
}

func TestFamiliesOfWhichNothingIsWantedAreNotNews(t *testing.T) {
	t.Parallel()
	page := family("counter", "dynamo_tokio_worker_park_count_total", " 1") + family("gauge", "dynamo_frontend_model_ready", " 1") +
		family("gauge", "dynamo_something_new", " 1")
	if diff := cmp.Diff(map[string]int{"unknown": 1, "type": 0}, mapText(t, &Options{Kind: Auto}, page).Unmapped); diff != "" {
		t.Error(diff)
	}
}

// TestWhatIsSaidWithoutAModelIsAboutTheOnlyOne on the page, whose name in the configuration may be that of an adapter.
func TestWhatIsSaidWithoutAModelIsAboutTheOnlyOne(t *testing.T) {
	t.Parallel()
	m := New(Options{Kind: Auto, Model: "adapter"})
	without := family("gauge", "vllm:kv_cache_usage_perc", " 0.5")
	for _, tt := range []struct{ models, want string }{
		{`{model_name="base"} 1`, "base"},
		{" 1", "adapter"},
		{`{model_name="other"} 1`, "other"},
		{`{model_name="other"} 1` + "\n" + `vllm:num_requests_running{model_name="base"} 1`, "adapter"},
	} {
		r := m.Map(parse(t, without+family("gauge", "vllm:num_requests_running", tt.models)))
		want := "aiperf_server_kv_cache_usage_ratio{model=" + tt.want + ",server=vllm} gauge 0.5"
		if got := lines(r.Normalised); !slices.Contains(got, want) {
			t.Errorf("%s: got %v, want among them %s", tt.models, got, want)
		}
	}
}

func TestWhatAPageTellsOfItsProcess(t *testing.T) {
	t.Parallel()
	running := family("gauge", "vllm:num_requests_running", `{model_name="a"} 1`)
	for _, tt := range []struct {
		name, page string
		started    float64
		model      string
	}{
		{"both", running + family("gauge", "process_start_time_seconds", " 1.7e9"), 1.7e9, "a"},
		{"neither", family("gauge", "vllm:num_requests_running", " 1"), 0, ""},
		{"several processes", running + family("gauge", "process_start_time_seconds", `{p="1"} 1.7e9`, `{p="2"} 1.8e9`), 0, "a"},
		{"several models", family("gauge", "vllm:num_requests_running", `{model_name="a"} 1`, `{model_name="b"} 1`), 0, ""},
	} {
		got := mapText(t, &Options{Kind: Auto, Model: "m"}, tt.page)
		if got.Started != tt.started || got.Model != tt.model {
			t.Errorf("%s: started %v, model %q; want %v, %q", tt.name, got.Started, got.Model, tt.started, tt.model)
		}
	}
}

func TestResultsShareNothingWithThePage(t *testing.T) {
	t.Parallel()
	page := readPage(t, "vllm")
	r := New(Options{Kind: Auto, Passthrough: Passthrough{Allow: []string{".*"}}}).Map(page)
	want := summary(r)
	for i := range page.Families {
		f := &page.Families[i]
		for j := range f.Series {
			s := &f.Series[j]
			for k := range s.Labels {
				s.Labels[k] = exposition.Label{Name: "x", Value: "y"}
			}
			if s.Histogram != nil {
				clear(s.Histogram.Classic)
				*s.Histogram = exposition.Buckets{}
			}
			s.Value = -1
		}
		*f = exposition.Family{}
	}
	if diff := cmp.Diff(want, summary(r)); diff != "" {
		t.Error(diff)
	}
}
