package config

import (
	"crypto/sha256"
	"encoding/hex"
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
// configuration itself. Sources of the configuration before go on where they are for the same file, with what they have counted.
func (c *Config) addSecrets(literals []string, before *Config) {
	if before == nil {
		before = &Config{}
	}
	for _, s := range literals {
		c.redactor.Add(secret.Literal("", secret.Secret(s)))
	}
	c.named = make(map[string]*secret.Source, len(c.Secrets))
	for name, s := range c.Secrets {
		c.named[name] = newSource(name, s.File, s.Value, before.named[name])
		c.redactor.Add(c.named[name])
	}
	c.ofTarget = map[string]*secret.Source{}
	for i := range c.Targets {
		t := &c.Targets[i]
		if t.Endpoint.APIKeyFile == "" && t.Endpoint.APIKey == "" {
			continue
		}
		c.ofTarget[t.Name] = newSource("api_key of target "+t.Name, t.Endpoint.APIKeyFile, t.Endpoint.APIKey, before.ofTarget[t.Name])
		c.redactor.Add(c.ofTarget[t.Name])
	}
	for name, m := range c.Modules {
		if owner := moduleOwner(name); m.Endpoint.APIKeyFile != "" || m.Endpoint.APIKey != "" {
			c.ofTarget[owner] = newSource("api_key of "+owner, m.Endpoint.APIKeyFile, m.Endpoint.APIKey, before.ofTarget[owner])
			c.redactor.Add(c.ofTarget[owner])
		}
	}
	for name, client := range c.HTTPClients {
		c.addFiles(client.files("http_clients." + name))
	}
	c.ofSet = map[string]*secret.Source{}
	for i := range c.TargetDiscovery {
		s := &c.TargetDiscovery[i]
		c.addFiles(s.files(fmt.Sprintf("target_discovery[%d]", i)))
		if e := &s.Template.Endpoint; e.APIKeyFile != "" || e.APIKey != "" {
			c.ofSet[s.Name] = newSource("api_key of target_discovery "+s.Name, e.APIKeyFile, e.APIKey, before.ofSet[s.Name])
			c.redactor.Add(c.ofSet[s.Name])
		}
	}
}

// addFiles tells the redactor about those files of a client, by key, that hold a credential and nothing else.
func (c *Config) addFiles(files map[string]string) {
	for path, file := range files {
		isCredential := func(key string) bool { return strings.HasSuffix(path, "."+key) }
		if slices.ContainsFunc(credentialFiles, isCredential) || strings.Contains(path, ".http_headers.") {
			c.redactor.Add(secret.File(path, file, time.Now))
		}
	}
}

// newSource makes one, or gives the one before if it is of the same file.
func newSource(name, file string, value secret.Secret, before *secret.Source) *secret.Source {
	switch {
	case file == "":
		return secret.Literal(name, value)
	case before != nil && before.Path() == file:
		return before
	}
	return secret.File(name, file, time.Now)
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
	for name := range c.Modules {
		if s, ok := c.ofTarget[moduleOwner(name)]; ok {
			try("modules."+name+".endpoint.api_key_file", s)
		}
	}
	errs = append(errs, c.OTLP.ReadFiles("otlp")...)
	files := map[string]string{}
	for name, client := range c.HTTPClients {
		maps.Copy(files, client.files("http_clients."+name))
	}
	for i := range c.TargetDiscovery {
		s, path := &c.TargetDiscovery[i], fmt.Sprintf("target_discovery[%d]", i)
		maps.Copy(files, s.files(path))
		if source := c.ofSet[s.Name]; source != nil {
			try(path+".template.endpoint.api_key_file", source)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if _, err := readFile(files[path]); err != nil {
			errs = append(errs, invalid.Key(path, "%v", err))
		}
	}
	return errs
}

// sourceOf is the secret that authenticates the requests of a target, nil if there is none.
func (c *Config) sourceOf(t *Target) *secret.Source {
	if t.Endpoint.Secret != "" {
		return c.named[t.Endpoint.Secret]
	}
	if t.Source != "" {
		return c.ofSet[t.Source]
	}
	return c.ofTarget[t.Name]
}

// credentialKey is equal for equal credentials of a target, sent in the same way; "" if it has none. What a file holds may change without it; a
// value is hashed.
func (c *Config) credentialKey(t *Target) string {
	source := c.sourceOf(t)
	if source == nil {
		return ""
	}
	header, prefix := t.Endpoint.Credential()
	what := "file " + source.Path()
	if source.Path() == "" {
		value, _ := source.Value() // a literal has no error
		sum := sha256.Sum256([]byte(value.Reveal()))
		what = "value " + hex.EncodeToString(sum[:])
	}
	return header + ": " + prefix + what
}

// credential gives what authenticates the requests of a target, nil if nothing does or its client does.
func (c *Config) credential(t *Target) transport.Credential {
	source := c.sourceOf(t)
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
