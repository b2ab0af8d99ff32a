package config

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
	"github.com/aiperf-exporter/aiperf-exporter/otlp"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// Load reads all layers and gives the effective configuration. An error that is about the configuration is an *Errors with everything
// that is wrong. Nothing is opened but the files themselves and, with StrictSecrets, the files that they name.
func Load(opts Options) (*Config, error) {
	l := &loader{options: opts, environment: newEnvironment(opts.Env), checker: newChecker()}
	l.read()
	if l.broken {
		return nil, l.errors() // what cannot be parsed cannot be joined with the rest
	}
	layers := l.check()
	sending, problems := otlp.FromEnvironment(opts.Env, func(key string) bool { return !l.written("otlp." + key).isEmpty() })
	config, err := decode(layers, &sending, cmp.Or(opts.Seed, RandomSeed()))
	if err != nil {
		return nil, err
	}
	if config.OTLP.Enabled {
		l.addVariables(&sending, problems)
	}
	if l.written("otlp.tls_config").isEmpty() { // the endpoint may be the file's
		config.OTLP.ForgetIdleCertificates()
	}
	config.redactor = &secret.Redactor{}
	config.ofFiles = config.redactor
	config.addSecrets(l.checker.secrets, opts.Previous)
	problems = append(config.decodeClients(), config.decodeDiscovery()...)
	problems = append(problems, config.validate()...)
	if opts.StrictSecrets {
		problems = append(problems, config.readFiles()...)
	}
	l.locateAll(problems)
	if len(l.findings) > 0 {
		return nil, l.errors()
	}
	config.Warnings = l.warnings(config)
	return config, nil
}

// loader holds what is known about the places where things were written.
type loader struct {
	options     Options
	environment *environment
	checker     *checker
	roots       []*node // of the layers, in their order
	findings    []Finding
	broken      bool // a file could not be read as YAML
}

// read makes a tree of each file and variable.
func (l *loader) read() {
	expand := l.environment
	if !l.options.ExpandEnv {
		expand = nil
	}
	for i, name := range l.options.Files {
		src := &source{name: name, dir: filepath.Dir(name), order: i}
		data, err := readFile(name)
		if err != nil {
			l.findings = append(l.findings, Finding{File: name, Message: "cannot be read: " + withoutPath(err).Error(), order: i})
			l.broken = true
			continue
		}
		root, findings := document(src, data, expand)
		l.findings = append(l.findings, findings...)
		if root != nil {
			l.roots = append(l.roots, root)
		} else if len(findings) > 0 {
			l.broken = true
		}
	}
	roots, findings := envLayers(l.options.Env, len(l.options.Files))
	l.roots = append(l.roots, roots...)
	l.findings = append(l.findings, findings...)
}

// addVariables notes what is wrong with the variables of OpenTelemetry, and what in them nobody may see.
func (l *loader) addVariables(sending *otlp.Config, problems []error) {
	for _, header := range sending.Headers {
		l.checker.secrets = append(l.checker.secrets, header.Reveal())
	}
	for _, problem := range problems {
		if variable, ok := errors.AsType[*invalid.Error](problem); ok {
			l.findings = append(l.findings, Finding{File: "env " + variable.Path, Message: variable.Message, order: len(l.options.Files)})
		}
	}
}

// withoutPath strips the name of the file that the finding already begins with.
func withoutPath(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// check compares each layer with what the frame knows and gives it as nested maps.
func (l *loader) check() []map[string]any {
	layers := make([]map[string]any, 0, len(l.roots))
	for _, root := range l.roots {
		if out, ok := l.checker.value(root, reflect.TypeFor[frame](), nil, ""); ok {
			layers = append(layers, out.(map[string]any)) // a struct comes out as a map
		}
	}
	l.findings = append(l.findings, l.checker.findings...)
	return layers
}

// locateAll turns what the rooms say into findings. What only follows from an earlier finding about the same key is left out: it would
// send people looking for a second mistake.
func (l *loader) locateAll(problems []error) {
	known := slices.Clone(l.checker.doubtful)
	for _, f := range l.findings {
		known = append(known, f.Path)
	}
	for _, problem := range problems {
		f := l.locate(problem)
		follows := func(path string) bool { return path != "" && related(path, f.Path) }
		if f.Path == "" || !slices.ContainsFunc(known, follows) {
			l.findings = append(l.findings, f)
		}
	}
}

// locate finds where the key of a problem was written.
func (l *loader) locate(problem error) Finding {
	key, ok := errors.AsType[*invalid.Error](problem)
	if !ok {
		return l.at("", problem.Error())
	}
	// A key that a target has from `defaults:` is reported once, where it stands.
	if rest, ok := belowTarget(key.Path); ok && l.written(key.Path).isEmpty() && !l.written("defaults."+rest).isEmpty() {
		return l.at("defaults."+rest, key.Message)
	}
	return l.at(key.Path, key.Message)
}

// belowTarget gives the key inside a target or a template, which it may have from `defaults:`.
func belowTarget(path string) (key string, ok bool) {
	block, rest, found := strings.Cut(path, "].")
	switch {
	case found && strings.HasPrefix(block, "targets["):
		return rest, true
	case found && strings.HasPrefix(block, "target_discovery["):
		key, ok = strings.CutPrefix(rest, "template.")
		return key, ok && !slices.Contains(notInherited, key)
	}
	return "", false
}

// at makes a finding about a key at the place of the key, or of the nearest one around it that was written.
func (l *loader) at(path, message string) Finding {
	for p := path; p != ""; p = parentPath(p) {
		if n := l.written(p); n != nil {
			return n.finding(path, message)
		}
	}
	if len(l.roots) > 0 {
		return l.roots[0].finding(path, message)
	}
	f := Finding{File: "configuration", Path: path, Message: message}
	if len(l.options.Files) > 0 {
		f.File, f.Line, f.Column = l.options.Files[0], 1, 1
	}
	return f
}

// written finds the layer that has the last word about a key, nil if none has the key. A key without a value says nothing, but is
// better than no place.
func (l *loader) written(path string) *node {
	var empty *node
	for _, root := range slices.Backward(l.roots) {
		n, throughList := root.find(path)
		if !n.isEmpty() {
			return n
		}
		empty = cmp.Or(empty, n)
		if throughList {
			break
		}
	}
	return empty
}

func (l *loader) warnings(config *Config) []Finding {
	out := l.checker.warnings
	for _, w := range config.warnings() {
		out = append(out, l.locate(w))
	}
	// The environment may name a collector for all programs of a cluster; who writes it here wants it to be told.
	if !config.OTLP.Enabled && !l.written("otlp.endpoint").isEmpty() && l.written("otlp.enabled").isEmpty() {
		out = append(out, l.at("otlp.endpoint", "nothing is sent there, otlp.enabled is false"))
	}
	return sorted(l.masked(out))
}

func (l *loader) errors() *Errors { return newErrors(l.masked(l.findings)) }

// masked takes out of the messages what came out of a variable or is a secret.
func (l *loader) masked(findings []Finding) []Finding {
	var r secret.Redactor
	for _, s := range l.checker.secrets {
		for _, spelling := range spellings(s) {
			r.Add(secret.Literal("", secret.Secret(spelling)))
		}
	}
	names := l.environment.replacer()
	for i := range findings {
		findings[i].Message = secret.Abridged(r.Redact(names.Replace(findings[i].Message)), maxMessageBytes)
	}
	return findings
}

// spellings gives a value as it is and as a quoted message shows it.
func spellings(s string) []string {
	quoted := strconv.Quote(s)
	if inner := quoted[1 : len(quoted)-1]; inner != s {
		return []string{s, inner}
	}
	return []string{s}
}

// maxMessageBytes bounds a message that quotes something long.
const maxMessageBytes = 500
