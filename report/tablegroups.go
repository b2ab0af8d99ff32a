package report

// tableGroups are the figures that people look at first; the files have all of them.
var tableGroups = []struct {
	title string
	rows  []tableRow
}{
	{"Latency, ms", []tableRow{
		{"time_to_first_token", "Time to first token", always},
		{"time_to_first_output_token", "Time to first output token", reasons},
		{"inter_token_latency", "Inter-token latency", always},
		{"inter_chunk_latency", "Gap between chunks", always},
		{"request_latency", "Request latency", always},
		{"effective_latency", "… from the scheduled start", always},
	}},
	{"Throughput", []tableRow{
		{"request_throughput", "Requests/s", always},
		{"output_token_throughput", "Output tokens/s", always},
		{"input_token_throughput", "Input tokens/s", always},
		{"output_token_throughput_per_user", "Output tokens/s per user", always},
		{"e2e_output_token_throughput", "End-to-end tokens/s per user", always},
	}},
	{"Tokens per request", []tableRow{
		{"input_sequence_length", "Input", always},
		{"usage_prompt_cache_read_tokens", "… of it from a cache", always},
		{"output_sequence_length", "Output", always},
		{"reasoning_token_count", "… of it reasoning", reasons},
	}},
	{"Power", append(powerRows(NVIDIA), powerRows(AMD)...)},
	{"Server", []tableRow{
		{"server_prompt_token_throughput", "Prompt tokens/s", always},
		{"server_generation_token_throughput", "Generation tokens/s", always},
		{"server_request_count", "Requests finished", always},
		{"server_queue_time", "Queue, ms", always},
		{"server_time_to_first_token", "Time to first token, ms", always},
		{"time_to_first_token_residual", "… more at the client, ms", always},
	}},
}

// powerRows are the figures of power that people look at first.
func powerRows(platform Platform) []tableRow {
	p := string(platform)
	return []tableRow{
		{p + "_average_gpu_power", "GPU power, W", always},
		{p + "_total_gpu_energy", "GPU energy, J", always},
		{p + "_output_tokens_per_joule", "Output tokens per joule", always},
		{p + "_energy_per_request", "Joules per request", always},
	}
}

// tableRow shows a figure, if it has a value and when says so.
type tableRow struct {
	tag, label string
	when       func(*Report) bool
}

func always(*Report) bool { return true }

// reasons tells whether the model did.
func reasons(r *Report) bool {
	m, ok := r.Metric("reasoning_token_count")
	return ok && m.Stats.Sum > 0
}
