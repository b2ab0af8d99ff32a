package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// rules gives what each recording rule makes as a question. What alerts ask has no answer while all is well, and the other way round: of them, as of all
// rules, it is only looked at whether Prometheus can evaluate them with the series that are there. It says so by an error.
func (r *rig) rules(ctx context.Context) ([]question, error) {
	ctx, cancel := context.WithTimeout(ctx, patienceOfAQuery)
	defer cancel()
	body, err := scrape.Bytes(ctx, r.prometheus+"/api/v1/rules", "application/json")
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct {
					Name      string `json:"name"`
					Type      string `json:"type"` // recording, alerting
					Health    string `json:"health"`
					LastError string `json:"lastError"`
				} `json:"rules"`
			} `json:"groups"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("rules of Prometheus: %w", err)
	}
	var out []question
	var errs []error
	known := map[string]bool{}
	for _, group := range answer.Data.Groups {
		for _, rule := range group.Rules {
			if rule.Health != "ok" {
				errs = append(errs, fmt.Errorf("rule %s is %s: %s", rule.Name, rule.Health, rule.LastError))
			}
			if rule.Type == "recording" && !known[rule.Name] {
				known[rule.Name] = true
				out = append(out, question{page: "rules", title: rule.Name, expr: rule.Name + `{job=~"$job"}`})
			}
		}
	}
	if len(out) == 0 {
		errs = append(errs, errors.New("there are no rules"))
	}
	return out, errors.Join(errs...)
}
