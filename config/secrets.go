package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/invalid"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// credentialFiles are the keys of http_clients whose files hold one credential, and nothing else.
var credentialFiles = []string{
	"basic_auth.password_file", "authorization.credentials_file", "bearer_token_file", "oauth2.client_secret_file",
}

// addSecrets makes the sources of all secrets and tells the redactor about them. literals are the values that stand in the
// configuration itself.
func (c *Config) addSecrets(literals []string) {
	for _, s := range literals {
		c.redactor.Add(secret.Literal("", secret.Secret(s)))
	}
	c.named = make(map[string]*secret.Source, len(c.Secrets))
	for name, s := range c.Secrets {
		c.named[name] = newSource(name, s.File, s.Value)
		c.redactor.Add(c.named[name])
	}
	c.ofTarget = map[string]*secret.Source{}
	for i := range c.Targets {
		t := &c.Targets[i]
		if t.Endpoint.APIKeyFile == "" && t.Endpoint.APIKey == "" {
			continue
		}
		c.ofTarget[t.Name] = newSource("api_key of target "+t.Name, t.Endpoint.APIKeyFile, t.Endpoint.APIKey)
		c.redactor.Add(c.ofTarget[t.Name])
	}
	for name, client := range c.HTTPClients {
		prefix := "http_clients." + name + "."
		for path, file := range client.files("http_clients." + name) {
			if slices.Contains(credentialFiles, strings.TrimPrefix(path, prefix)) || strings.HasPrefix(path, prefix+"http_headers.") {
				c.redactor.Add(secret.File(path, file, time.Now))
			}
		}
	}
}

func newSource(name, file string, value secret.Secret) *secret.Source {
	if file != "" {
		return secret.File(name, file, time.Now)
	}
	return secret.Literal(name, value)
}

// readFiles reads every file that holds a secret or a certificate and finds those that cannot be read.
func (c *Config) readFiles() []error {
	var errs []error
	try := func(path string, s *secret.Source) {
		if _, err := s.Value(); err != nil {
			errs = append(errs, invalid.Key(path, "%v", err))
		}
	}
	for name, s := range c.named {
		try("secrets."+name+".file", s)
	}
	for i := range c.Targets {
		if s, ok := c.ofTarget[c.Targets[i].Name]; ok {
			try(fmt.Sprintf("targets[%d].endpoint.api_key_file", i), s)
		}
	}
	errs = append(errs, c.OTLP.ReadFiles("otlp")...)
	for name, client := range c.HTTPClients {
		files := client.files("http_clients." + name)
		for _, path := range slices.Sorted(maps.Keys(files)) {
			if _, err := readFile(files[path]); err != nil {
				errs = append(errs, invalid.Key(path, "%v", err))
			}
		}
	}
	return errs
}

// credential gives what authenticates the requests of a target, nil if nothing does or its client does.
func (c *Config) credential(t *Target) transport.Credential {
	source := c.ofTarget[t.Name]
	if t.Endpoint.Secret != "" {
		source = c.named[t.Endpoint.Secret]
	}
	if source == nil {
		return nil
	}
	name, prefix := t.Endpoint.Credential()
	return func() (header, value string, err error) {
		key, err := source.Value()
		if err != nil {
			return "", "", err
		}
		return name, prefix + key.Reveal(), nil
	}
}
