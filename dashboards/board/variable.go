package board

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// Variable is a choice at the top of a page.
type Variable struct {
	Name, Label, Help string
	// Query finds its values with label_values(); Values lists them where they are fixed, the first is chosen at first.
	Query  string
	Values []string
	// One value can be chosen, not several or all.
	One bool
}

// variables are the choices, after that of the data source.
func variables(list []Variable) []dashboard.VariableModel {
	out := append(make([]dashboard.VariableModel, 0, 1+len(list)), dashboard.VariableModel{
		Type: dashboard.VariableTypeDatasource, Name: "datasource", Label: new("Data source"), Hide: new(dashboard.VariableHideDontHide),
		Description: new("The Prometheus that scrapes the exporter and has its rules."),
		Query:       &dashboard.StringOrMap{String: new("prometheus")}, Regex: new(""), Multi: new(false), IncludeAll: new(false),
		Refresh: new(dashboard.VariableRefreshOnDashboardLoad), SkipUrlSync: new(false), Options: []dashboard.VariableOption{},
	})
	for i := range list {
		out = append(out, list[i].build())
	}
	return out
}

func (v *Variable) build() dashboard.VariableModel {
	out := dashboard.VariableModel{
		Name: v.Name, Label: new(v.Label), Description: new(v.Help), Hide: new(dashboard.VariableHideDontHide), SkipUrlSync: new(false),
		Multi: new(!v.One), IncludeAll: new(!v.One), Options: []dashboard.VariableOption{},
	}
	if len(v.Values) > 0 {
		out.Type, out.Query = dashboard.VariableTypeCustom, &dashboard.StringOrMap{String: new(strings.Join(v.Values, ","))}
		for i, value := range v.Values {
			o := option(value, value)
			o.Selected = new(i == 0)
			out.Options = append(out.Options, o)
		}
		out.Current = new(option(v.Values[0], v.Values[0]))
		return out
	}
	out.Type, out.Datasource = dashboard.VariableTypeQuery, source()
	out.Query = &dashboard.StringOrMap{Map: map[string]any{"query": v.Query, "refId": "variable-" + v.Name, "qryType": 1}}
	out.Definition, out.Regex = new(v.Query), new("")
	out.Refresh, out.Sort = new(dashboard.VariableRefreshOnTimeRangeChanged), new(dashboard.VariableSortNaturalAsc)
	if !v.One {
		out.AllValue, out.Current = new(".*"), new(option("All", "$__all"))
	}
	return out
}

func option(text, value string) dashboard.VariableOption {
	return dashboard.VariableOption{
		Selected: new(true), Text: dashboard.StringOrArrayOfString{String: new(text)}, Value: dashboard.StringOrArrayOfString{String: new(value)},
	}
}
