package report

// energy is what the GPUs of one platform took during the window.
type energy struct {
	joules                     float64
	devices, known, integrated int // whole GPUs; those whose energy is known; those of them without a counter
}

// energyOf sums up the GPUs of a platform.
func (g *GPUs) energyOf(platform Platform) energy {
	var e energy
	for i := range g.Devices {
		d := &g.Devices[i]
		if d.Platform != platform || d.Instance != "" {
			continue
		}
		e.devices++
		if !d.Energy.Defined {
			continue
		}
		e.known++
		e.joules += d.Energy.V
		if d.Integrated {
			e.integrated++
		}
	}
	return e
}

// method says where the energy comes from.
func (e *energy) method() string {
	switch e.integrated {
	case 0:
		return "counter"
	case e.known:
		return "integrated"
	}
	return "mixed"
}

// efficiency is what the figures of power are computed from.
type efficiency struct {
	joules, watts float64
	users         float64
	figure        func(tag string) (float64, bool)
}

// powerFigure is one of them: what stands behind the platform in AIPerf's tag.
type powerFigure struct {
	tag, header, unit string
	sum               bool // of GPUs, and so too small if some are not known; ratios of it would be wrong
	of                func(*efficiency) (float64, bool)
}

// power lists them in AIPerf's order. AIPerf's total power is the sum of the mean readings and its average power energy by time; here both are
// energy by time, the throughputs' time.
var power = []powerFigure{
	{"total_gpu_power", "Total GPU Power", "W", true, averagePower},
	{"average_gpu_power", "Average GPU Power", "W", true, averagePower},
	{"total_gpu_energy", "Total GPU Energy", "J", true, func(e *efficiency) (float64, bool) { return e.joules, true }},
	{"output_tokens_per_joule", "Output Tokens per Joule", "tokens/J", false, func(e *efficiency) (float64, bool) {
		tokens, ok := e.figure("total_osl")
		return divide(tokens, e.joules, ok)
	}},
	{"energy_per_output_token", "Energy per Output Token", "mJ/token", false, func(e *efficiency) (float64, bool) {
		tokens, ok := e.figure("total_osl")
		return divide(1e3*e.joules, tokens, ok)
	}},
	{"energy_per_total_token", "Energy per Total Token", "mJ/token", false, func(e *efficiency) (float64, bool) {
		output, some := e.figure("total_osl")
		input, ok := e.figure("total_isl")
		return divide(1e3*e.joules, input+output, ok || some)
	}},
	{"energy_per_request", "Energy per Request", "joules/request", false, perRequest},
	{"energy_per_user", "Energy per User", "joules/user", false, func(e *efficiency) (float64, bool) { return share(e.joules, e.users) }},
	{"energy_delay_product", "Energy Delay Product", "J*s", false, func(e *efficiency) (float64, bool) {
		each, ok := perRequest(e)
		latency, known := e.figure("request_latency")
		return each * latency / 1e3, ok && known
	}},
	{"performance_per_watt", "Performance per Watt", "requests/sec/W", false, perWatt("request_throughput")},
	{"output_tps_per_watt", "Output Tokens per Second per Watt", "tokens/sec/W", false, perWatt("output_token_throughput")},
	{"goodput_per_watt", "Goodput per Watt", "good-req/s/W", false, perWatt("goodput")},
}

func averagePower(e *efficiency) (float64, bool) { return e.watts, e.watts > 0 }

func perRequest(e *efficiency) (float64, bool) {
	requests, ok := e.figure("request_count")
	return divide(e.joules, requests, ok)
}

func perWatt(tag string) func(*efficiency) (float64, bool) {
	return func(e *efficiency) (float64, bool) {
		rate, ok := e.figure(tag)
		return divide(rate, e.watts, ok)
	}
}

// divide is share of something that may not be known.
func divide(part, whole float64, known bool) (float64, bool) {
	quotient, ok := share(part, whole)
	return quotient, ok && known
}

// describePower adds the figures of each platform that has energy.
func (r *Report) describePower() {
	if r.Meta.GPUs == nil {
		return
	}
	for _, platform := range []Platform{NVIDIA, AMD} {
		sum := r.Meta.GPUs.energyOf(platform)
		if sum.joules <= 0 {
			continue
		}
		e := efficiency{joules: sum.joules, users: float64(r.Meta.Load.Concurrency), figure: r.average}
		e.watts, _ = share(e.joules, r.window())
		for i := range power {
			f := &power[i]
			m := Metric{Tag: string(platform) + "_" + f.tag, Header: f.header, Unit: f.unit, Scalar: true}
			var ok bool
			if m.Stats.Avg, ok = f.of(&e); ok && (f.sum || sum.known == sum.devices) {
				r.Metrics = append(r.Metrics, m)
			}
		}
	}
}

// average is the mean of a figure, or its value.
func (r *Report) average(tag string) (float64, bool) {
	m, ok := r.Metric(tag)
	return m.Stats.Avg, ok
}

// energyObject says how far the figures of power can be trusted.
func (g *GPUs) energyObject() object {
	o := object{}
	for _, platform := range []Platform{NVIDIA, AMD} {
		if e := g.energyOf(platform); e.devices > 0 {
			about := object{{"gpus", e.devices}, {"known", e.known}, {"partial", e.known < e.devices}}
			if e.known > 0 {
				about = append(about, member{"method", e.method()})
			}
			o = append(o, member{string(platform), about})
		}
	}
	return o
}
