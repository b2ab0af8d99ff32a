package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in, want, err string
	}{
		{"nothing to do", "a plain text", "a plain text", ""},
		{"a variable", "${A}", "alpha", ""},
		{"in the middle, twice", "x${A}y${A}z", "xalphayalphaz", ""},
		{"a default that is not needed", "${A:-beta}", "alpha", ""},
		{"a default for an unset variable", "${NONE:-beta}", "beta", ""},
		{"a default for an empty variable", "${EMPTY:-beta}", "beta", ""},
		{"an empty default", "x${NONE:-}y", "xy", ""},
		{"a default with a colon and a dash", "${NONE:-a:-b}", "a:-b", ""},
		{"an empty variable", "x${EMPTY}y", "xy", ""},
		{"a doubled dollar", "$$5 and $${A}", "$5 and ${A}", ""},
		{"a lone dollar", "$5 $A $", "$5 $A $", ""},
		{"the value is not expanded again", "${NESTED}", "${A}", ""},
		{"an unset variable", "${NONE}", "", "variable NONE is not set and has no default"},
		{"the first of two mistakes", "${NONE} ${B-AD}", " ", "variable NONE is not set and has no default"},
		{"not a name", "${B-AD}", "", `"B-AD" is not the name of a variable, write $${ for a plain ${`},
		{"not closed", "${A", "", `"${" is not closed, write $${ for a plain ${`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := newEnvironment([]string{"A=alpha", "EMPTY=", "NESTED=${A}", "EQUALS=a=b", "novalue"})
			got, changed, err := e.expand(tt.in)
			message := ""
			if err != nil {
				message = err.Error()
			}
			if got != tt.want || message != tt.err || changed != (tt.in != got) {
				t.Errorf("got %q, %v, %q; want %q, %q", got, changed, message, tt.want, tt.err)
			}
		})
	}
}

func TestExpansionIsBounded(t *testing.T) {
	t.Parallel()
	e := newEnvironment([]string{"BIG=" + strings.Repeat("x", 1<<20)})
	if _, _, err := e.expand(strings.Repeat("${BIG}", 5)); err == nil || err.Error() != "variables expand to more than 4 MiB" {
		t.Errorf("got %v", err)
	}
}

func TestVariablesDoNotChangeTheStructure(t *testing.T) {
	t.Parallel()
	env := []string{"EVIL=x, seed: 7}\n- {name: b", "LIST=[a]", "NULL=null", "STAR=*a"}
	config, problems := loadTexts(t, env, `
targets:
  - name: a
    url: http://127.0.0.1:8000
    model: ${LIST}
    endpoint: {type: chat}
    workload: w
    labels: {quoted: "${NUMBER}", plain: "${NUMBER}", star: "${STAR}"}
    seed: ${NUMBER}
workloads:
  w:
    extra:
      evil: ${EVIL}
      list: ${LIST}
      number: ${NUMBER}
      text: "${NUMBER}"
      none: ${NULL}
`)
	if problems != "" {
		t.Fatal(problems)
	}
	target := config.Targets[0]
	if target.Model != "[a]" || target.Seed != 42 || len(config.Targets) != 1 {
		t.Errorf("got model %q, seed %d, %d targets", target.Model, target.Seed, len(config.Targets))
	}
	if diff := cmp.Diff(map[string]string{"quoted": "42", "plain": "42", "star": "*a"}, target.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	want := map[string]any{"evil": "x, seed: 7}\n- {name: b", "list": "[a]", "number": 42, "text": "42", "none": nil}
	if diff := cmp.Diff(want, config.Workloads["w"].Extra); diff != "" {
		t.Errorf("extra (-want +got):\n%s", diff)
	}
}

func TestWithoutExpandEnvDollarsStay(t *testing.T) {
	t.Parallel()
	root, findings := document(&source{name: "f"}, []byte("a: ${X}\nb: $$\n"), nil)
	if len(findings) > 0 || root.fields["a"].value != "${X}" || root.fields["b"].value != "$$" {
		t.Errorf("got %v %v %v", root.fields["a"].value, root.fields["b"].value, findings)
	}
}
