package config

import (
	"maps"
	"net/http"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// validateHeaderPlaces refuses a header of a target's requests, its credential above all, that two places of the configuration set: nobody could tell
// which of them holds.
func (c *Config) validateHeaderPlaces(t *Target, path string) []error {
	var errs []error
	name, client := entry(c.HTTPClients, t.Client, DefaultHTTPClient())
	places := client.headerPlaces("http_clients." + name) // by header: the key that sets it
	endpointOwn := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(t.Endpoint.Headers)) {
		header, key := http.CanonicalHeaderKey(name), path+".endpoint.headers."+name
		if other, twice := places[header]; twice {
			errs = append(errs, invalid.Key(key, "sets the header %s, as %s does: set one of the two", header, other))
		}
		endpointOwn[header] = key
	}
	maps.Copy(places, endpointOwn)
	key := t.Endpoint.credentialKey()
	if key == "" {
		return errs
	}
	header, _ := t.Endpoint.Credential()
	if other, twice := places[http.CanonicalHeaderKey(header)]; twice {
		errs = append(errs, invalid.Key(path+".endpoint."+key, "is sent in the header %s, which %s sets: set one of the two", header, other))
	} else if other = client.credentialKey(); other != "" {
		errs = append(errs, invalid.Key(path+".endpoint."+key, "names a credential, but http_clients.%s.%s sends one already: set one of the two", name, other))
	}
	return errs
}

// credentialKey is the key that names a credential, "" = none does.
func (e *Endpoint) credentialKey() string {
	switch {
	case e.Secret != "":
		return "secret"
	case e.APIKeyFile != "":
		return "api_key_file"
	case e.APIKey != "":
		return "api_key"
	}
	return ""
}

// credentialKey is the key by which the client itself sends a credential, "" = it does not. There is one at most.
func (c *HTTPClient) credentialKey() string {
	switch {
	case c.HTTP.Authorization != nil:
		return "authorization"
	case c.HTTP.BasicAuth != nil:
		return "basic_auth"
	case c.HTTP.OAuth2 != nil:
		return "oauth2"
	}
	return ""
}

// headerPlaces are the keys below path that set headers, by header.
func (c *HTTPClient) headerPlaces(path string) map[string]string {
	out := map[string]string{}
	if key := c.credentialKey(); key != "" {
		out["Authorization"] = path + "." + key
	}
	if c.HTTP.HTTPHeaders != nil {
		for name := range c.HTTP.HTTPHeaders.Headers {
			out[http.CanonicalHeaderKey(name)] = path + ".http_headers." + name
		}
	}
	return out
}
