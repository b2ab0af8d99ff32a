package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// proxies speaks to the API of a running toxiproxy.
type proxies struct{ url string }

// toxic is what a proxy does to the bytes that pass.
type toxic struct {
	Name       string         `json:"name"`
	Type       string         `json:"type"`
	Stream     string         `json:"stream,omitempty"` // upstream, or downstream if empty
	Attributes map[string]int `json:"attributes"`
}

// proxy is one as the API has it.
type proxy struct {
	Name     string `json:"name,omitempty"`
	Listen   string `json:"listen,omitempty"`
	Upstream string `json:"upstream,omitempty"`
	Enabled  bool   `json:"enabled"`
}

// add makes a proxy in front of a server and gives its address.
func (p proxies) add(ctx context.Context, name, server string) (string, error) {
	made := proxy{}
	err := p.call(ctx, http.MethodPost, "/proxies", proxy{Name: name, Listen: "127.0.0.1:0", Upstream: server, Enabled: true}, &made)
	return made.Listen, err
}

// put begins or ends a toxic.
func (p proxies) put(ctx context.Context, name string, t *toxic, ill bool) error {
	at := "/proxies/" + name + "/toxics"
	if !ill {
		return p.call(ctx, http.MethodDelete, at+"/"+name, nil, nil)
	}
	named := *t
	named.Name = name
	return p.call(ctx, http.MethodPost, at, named, nil)
}

// renew puts another proxy without toxics in the place of one.
func (p proxies) renew(ctx context.Context, name, listen, server string) error {
	if err := p.call(ctx, http.MethodDelete, "/proxies/"+name, nil, nil); err != nil {
		return err
	}
	return p.call(ctx, http.MethodPost, "/proxies", proxy{Name: name, Listen: listen, Upstream: server, Enabled: true}, nil)
}

// enable opens or closes the port of a proxy, which keeps its address.
func (p proxies) enable(ctx context.Context, name, listen, server string, enabled bool) error {
	return p.call(ctx, http.MethodPost, "/proxies/"+name, proxy{Listen: listen, Upstream: server, Enabled: enabled}, nil)
}

func (p proxies) call(ctx context.Context, method, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, p.url+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("toxiproxy: %s %s: %s: %s", method, path, resp.Status, said)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(said, into)
}
