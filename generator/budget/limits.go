package budget

// Limits are those that are set, none of them used, in the order of Account.State. An empty list is no budget.
func (c *Config) Limits() []Use {
	var a Account
	for p, limit := range c.limits() {
		a.windows[p].limit = limit
	}
	return a.uses()
}

// IsZero tells that there is no limit and no price, for printing.
func (c Config) IsZero() bool {
	return len(c.Limits()) == 0 && c.USDPerMillionInput == 0 && c.USDPerMillionOutput == 0
}
