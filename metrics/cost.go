package metrics

import (
	"regexp"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// currency is a code of ISO 4217, in lower case.
var currency = regexp.MustCompile(`^[a-z]{3}$`)

// CostConfig is the block `cost:` of a target: what its machines cost. What a vendor asks for tokens is in the target's budget.
//
// The comments of its fields are the reference that users read, docs/configuration.md.
type CostConfig struct {
	// price of all machines that serve the target, per hour
	PerHour float64 `koanf:"per_hour" yaml:"per_hour,omitempty"`
	// price of the energy that they use, per kilowatt hour
	PerKWh float64 `koanf:"per_kwh" yaml:"per_kwh,omitempty"`
	// in which currency; a budget and its prices are in US dollars always
	Currency string `koanf:"currency" yaml:"currency"`
}

// DefaultCostConfig is what an absent block means.
func DefaultCostConfig() CostConfig { return CostConfig{Currency: dollars} }

// IsZero tells that nothing is said about costs, and so nothing printed.
func (c CostConfig) IsZero() bool { return c.PerHour == 0 && c.PerKWh == 0 }

// Prices are US dollars per million tokens.
type Prices struct{ Input, Output float64 }

// The series of what a target costs.
const (
	costPerHour   = "aiperf_target_cost_per_hour"
	costPerKWh    = "aiperf_target_energy_cost_per_kilowatt_hour"
	pricePerToken = "aiperf_target_price_per_million_tokens"
)

// costSeries put prices beside tokens and joules: how much was used, and what that comes to, is a matter of time ranges, so of queries.
func costSeries() []Series {
	in := Label{Name: "currency"}
	return []Series{
		{
			Name: costPerHour, Kind: Gauge, Scope: PerTarget, when: costsByHour, Labels: []Label{in},
			Help: "What the machines of the target cost per hour, from the configuration.",
		},
		{
			Name: costPerKWh, Kind: Gauge, Scope: PerTarget, when: costsByEnergy, Labels: []Label{in},
			Help: "What the energy of the target's machines costs per kilowatt hour, from the configuration.",
		},
		{
			Name: pricePerToken, Kind: Gauge, Scope: PerTarget, when: priced, Labels: []Label{{"token_type", []string{"input", "output"}}, in},
			Help: "What the vendor asks for a million tokens, from the configuration.",
		},
	}
}

func (b *board) addCost() {
	cost, prices := &b.info.Cost, &b.info.Prices
	b.configure(cost.PerHour, costPerHour, cost.Currency)
	b.configure(cost.PerKWh, costPerKWh, cost.Currency)
	b.configure(prices.Input, pricePerToken, "input", dollars)
	b.configure(prices.Output, pricePerToken, "output", dollars)
}

// dollars is the currency of budgets, and of costs that name none.
const dollars = "usd"

// Validate finds what is wrong, by key below path.
func (c *CostConfig) Validate(path string) []error {
	var errs []error
	if !(c.PerHour >= 0) { // so written, NaN is wrong too
		errs = append(errs, invalid.Key(path+".per_hour", "must be >= 0, got %v", c.PerHour))
	}
	if !(c.PerKWh >= 0) {
		errs = append(errs, invalid.Key(path+".per_kwh", "must be >= 0, got %v", c.PerKWh))
	}
	if !currency.MatchString(c.Currency) {
		errs = append(errs, invalid.Key(path+".currency", "must be 3 lower-case letters such as usd, got %q", c.Currency))
	}
	return errs
}
