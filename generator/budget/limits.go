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

// IsZero tells that there is no limit and no price, for printing.
func (c Config) IsZero() bool {
	return len(c.Limits()) == 0 && c.USDPerMillionInput == 0 && c.USDPerMillionOutput == 0
}
