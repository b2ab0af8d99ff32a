package answer

// Kinds are the checks that the entries of a list ask for, each once, in the order of AllChecks.
func Kinds(entries []Expect) []Check {
	asked := map[Check]bool{}
	for i := range entries {
		for j := range makers {
			if makers[j].wanted(&entries[i]) {
				asked[makers[j].check] = true
			}
		}
	}
	var out []Check
	for _, check := range AllChecks {
		if asked[check] {
			out = append(out, check)
		}
	}
	return out
}

// Empty tells that nothing is expected, so that nobody has to look at an answer.
func (c *Checks) Empty() bool { return len(c.judges) == 0 }

// IsZero tells that answers are not compared, for printing.
func (c FingerprintConfig) IsZero() bool { return !c.Enabled }
