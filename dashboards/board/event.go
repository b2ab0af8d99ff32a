package board

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// event is something that happened, drawn as a vertical line over every panel; each kind can be switched off at the top of the page.
type event struct {
	name   string
	colour Colour
	expr   string
	title  string
	text   string
}

// happenings are the events that explain a change of a curve, those of other targets left out where one may be chosen.
func happenings(target bool) []event {
	job, one, also := `job=~"$job"`, "", ""
	if target {
		one, also = `,target=~"$target"`, `,target=~"$target|"` // an alert without a target concerns all of them
	}
	return []event{
		{
			name: "Alerts", colour: Bad, title: "{{alertname}}", text: "{{severity}} {{target}} {{slo}}",
			expr: `ALERTS{alertname=~"AIPerf.*",alertstate="firing",severity=~"page|ticket",` + job + also + `}`,
		},
		{
			name: "Configurations", colour: "blue", title: "Configuration loaded", text: "{{instance}}",
			expr: `changes(aiperf_exporter_config_last_reload_success_timestamp_seconds{` + job + `}[2m]) > 0`,
		},
		{
			name: "Server restarts", colour: Worse, title: "Server restarted", text: "{{target}} {{instance_id}}",
			expr: `increase(aiperf_server_restarts_total{` + job + one + `}[2m]) > 0`,
		},
		{
			name: "Model changes", colour: "purple", title: "Another model or configuration is served", text: "{{target}} {{model}}",
			// It is 0 until the server has said what it serves: to learn that is no change.
			expr: `changes(aiperf_target_served_model_hash{` + job + one + `}[5m]) > 0 and min_over_time(aiperf_target_served_model_hash{` + job + one + `}[5m]) > 0`,
		},
		{
			name: "Exporter starts", colour: Absent, title: "Exporter started", text: "{{instance}}",
			expr: `changes(process_start_time_seconds{` + job + `}[2m]) > 0`,
		},
	}
}

// events are the happenings as Grafana takes them.
func events(target bool) (out []dashboard.AnnotationQuery) {
	for _, e := range happenings(target) {
		out = append(out, dashboard.AnnotationQuery{
			Name: e.name, Datasource: source(), Enable: true, Hide: new(false), IconColor: string(e.colour),
			Expr: new(e.expr), Step: new("1m"), TitleFormat: new(e.title), TextFormat: new(e.text), UseValueForTime: new(false),
		})
	}
	return out
}

// bar leads to the other pages, with the same time and the same choices.
func bar() dashboard.DashboardLink {
	return dashboard.DashboardLink{
		Title: "aiperf", Type: dashboard.DashboardLinkTypeDashboards, Tags: []string{"aiperf"}, Icon: "external link",
		IncludeVars: true, KeepTime: true,
	}
}
