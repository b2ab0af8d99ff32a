package gpu

// ClockEvents are the samples of the driver's bitmask of reasons that hold the clocks down: all of them, as 0 or 1, so that averages over time
// are shares of it. Bits without a name are other.
func ClockEvents(mask uint64) []Sample {
	named := len(ClockEventReasons) - 1
	samples := make([]Sample, 0, named+1)
	for bit, reason := range ClockEventReasons[:named] {
		samples = append(samples, Sample{Name: seriesClockEvent, Value: float64(mask >> bit & 1), Labels: []string{reason}})
	}
	return append(samples, Sample{Name: seriesClockEvent, Value: boolean(mask>>named != 0), Labels: []string{ClockEventReasons[named]}})
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
