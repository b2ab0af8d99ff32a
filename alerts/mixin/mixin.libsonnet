// The rules and alerts as a monitoring mixin. Severities, the base of runbooks and alerts to leave out are in _config; for another job or further
// labels, take the output of `aiperf-exporter rules` in place of the two files.
{
  local config = self._config,

  _config+:: {
    severities: {},  // the site's words: { page: 'critical', ticket: 'warning' }
    runbookBase: 'https://github.com/aiperf-exporter/aiperf-exporter/blob/main/docs/runbooks/',
    disable: [],
  },

  local adapted(rule) = rule {
    labels+: { severity: std.get(config.severities, rule.labels.severity, rule.labels.severity) },
    annotations+: { runbook_url: config.runbookBase + rule.alert + '.md' },
  },

  prometheusRules+:: std.parseYaml(importstr 'prometheus_rules.yaml'),

  prometheusAlerts+:: {
    groups+: [
      group { rules: [adapted(rule) for rule in group.rules if !std.member(config.disable, rule.alert)] }
      for group in std.parseYaml(importstr 'prometheus_alerts.yaml').groups
    ],
  },
}
