package budget

import "time"

// Limits are those that are set, none of them used, in the order of Account.State. An empty list is no budget.
func (c *Config) Limits() []Use {
	a := &Account{ledger: &Ledger{}}
	for p, limit := range c.limits() {
		a.windows[p].limit = limit
	}
	a.zone = time.UTC
	return a.State(time.Unix(0, 0))
}
