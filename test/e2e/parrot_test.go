//go:build e2e && secrets

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// parrot is everything that the exporter speaks to: the server, its metrics, a proxy, an issuer of tokens, a discovery. It says to whoever asks what it
// was told before, in all spellings, at every place where an answer has room for a text.
type parrot struct {
	url string

	mu      sync.Mutex
	said    []string // values of headers, users, passwords and queries with a secret, as they came, in order; replaced, never changed
	answers int
}

func startParrot(t *testing.T) *parrot {
	t.Helper()
	p := &parrot{}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	p.url = s.URL
	return p
}

// hear notes what came with a request and is a secret, or has one.
func (p *parrot) hear(r *http.Request, body []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	note := func(value string) {
		if at, known := slices.BinarySearch(p.said, value); !known && strings.Contains(value, headMark) {
			p.said = slices.Insert(slices.Clone(p.said), at, value)
		}
	}
	for _, values := range r.Header {
		for _, value := range values {
			note(value)
			if credentials, ok := strings.CutPrefix(value, "Basic "); ok {
				if plain, err := base64.StdEncoding.DecodeString(credentials); err == nil {
					user, password, _ := strings.Cut(string(plain), ":")
					note(user)
					note(password)
					if of, err := url.QueryUnescape(password); err == nil { // OAuth 2.0 escapes it
						note(of)
					}
				}
			}
			if token, ok := strings.CutPrefix(value, "Bearer "); ok {
				note(token)
			}
		}
	}
	for _, values := range r.URL.Query() {
		for _, value := range values {
			note(value)
		}
	}
	if form, err := url.ParseQuery(string(body)); err == nil && r.URL.Path == "/token" {
		for _, values := range form {
			for _, value := range values {
				note(value)
			}
		}
	}
}

// heard tells whether a value came as it is, alone.
func (p *parrot) heard(value string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.said, value) || slices.Contains(p.said, "Bearer "+value)
}

// echo is all that it has heard, in one of the spellings, and with another at the beginning each time: there is not room for all everywhere.
func (p *parrot) echo() string {
	p.mu.Lock()
	said := p.said
	p.mu.Unlock() // thousands of answers may be under way
	if len(said) == 0 {
		return "nothing"
	}
	first := rand.IntN(len(said))
	text := strings.Join(slices.Concat(said[first:], said[:first]), " ")
	switch rand.IntN(5) {
	case 0:
		return url.QueryEscape(text)
	case 1:
		return url.PathEscape(text)
	case 2:
		quoted, _ := json.Marshal(text) // a string cannot fail
		return string(quoted[1 : len(quoted)-1])
	case 3:
		return base64.StdEncoding.EncodeToString([]byte("joe:" + text))
	}
	return text
}

// answered is how many answers of a model it has given.
func (p *parrot) answered() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answers
}

// next counts what is answered.
func (p *parrot) next() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers++
	return p.answers
}

// waysToAnswer is how many there are.
const waysToAnswer = 12

// ServeHTTP implements http.Handler.
func (p *parrot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	p.hear(r, body)
	switch {
	case r.Method == http.MethodConnect:
		raw(w, "HTTP/1.1 407 "+p.echo()+"\r\nX-Echo: "+p.echo()+"\r\nContent-Length: 0\r\n\r\n")
	case r.URL.Path == "/token":
		if rand.IntN(3) > 0 {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"access_token":"issued-by-the-parrot-0123456789","token_type":"Bearer","expires_in":1}`)
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, "no client has the secret %s", p.echo())
	case r.URL.Path == "/sd":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `[{"targets":[%q],"labels":{"__target_name__":"found","__model__":"m","__param_key":%q}},{"targets":["not an address"]}]`,
			strings.TrimPrefix(p.url, "http://"), plant("discovered"))
	case r.URL.Path == "/badsd":
		http.Error(w, p.echo(), http.StatusForbidden)
	case r.Method == http.MethodGet:
		p.page(w, r)
	default:
		p.answer(w, r)
	}
}

// page is one with metrics, unless its path says otherwise.
func (p *parrot) page(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/broken") {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprintf(w, "vllm:num_requests_running{model_name=%q} %s\n", "m", p.echo())
		return
	}
	if !strings.HasSuffix(r.URL.Path, "/metrics") {
		http.Error(w, p.echo(), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	fmt.Fprintf(w, "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name=%q,engine=%q} 1\n", p.echo(), "0")
	fmt.Fprintf(w, "# TYPE vllm:echo gauge\n# HELP vllm:echo %s\nvllm:echo{text=%q} 1\n", strings.ReplaceAll(p.echo(), `\`, `\\`), p.echo())
}

// answer is that of a model, right or wrong in one of many ways.
func (p *parrot) answer(w http.ResponseWriter, r *http.Request) {
	turn := p.next()
	w.Header().Set("X-Echo", p.echo())
	w.Header().Set("X-Request-Id", p.echo())
	switch turn % waysToAnswer {
	case 0:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": "what is " + p.echo(), "type": p.echo(), "code": p.echo()}})
	case 1:
		http.Error(w, strings.Repeat("x", turn*7%4200)+" "+p.echo(), http.StatusInternalServerError)
	case 2:
		http.Redirect(w, r, "http://"+url.UserPassword("joe", p.echo()).String()+"@127.0.0.1:1/?key="+url.QueryEscape(p.echo()), http.StatusTemporaryRedirect)
	case 3:
		raw(w, "HTTP/1.1 418 "+p.echo()+"\r\nContent-Type: "+p.echo()+"\r\nWww-Authenticate: "+p.echo()+"\r\nContent-Length: 0\r\n\r\n")
	case 4:
		raw(w, p.echo()+" is not HTTP\r\n\r\n")
	case 5:
		raw(w, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: "+p.echo()+"\r\n\r\n")
	case 6:
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\": [%s\n\n", p.echo())
	case 7:
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"error\":{\"message\":%q,\"type\":%q}}\n\n", p.echo(), p.echo())
	case 8:
		w.Header().Set("Content-Type", "text/html; echo="+p.echo())
		fmt.Fprintf(w, "<html>%s", p.echo())
	default:
		text := p.echo()
		a := reply{model: p.echo(), text: text, input: 16, output: 4}
		a.open(w)
		a.chunk(w, text, "null")
		fmt.Fprintf(w, ": %s\n\nevent: %s\n\n", p.echo(), p.echo())
		a.chunk(w, p.echo(), `"`+strings.ReplaceAll(url.QueryEscape(p.echo()), `"`, "")+`"`)
		fmt.Fprint(w, "data: [DONE]\n\n")
	}
}

// raw writes an answer byte for byte and closes the connection.
func raw(w http.ResponseWriter, text string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer func(c net.Conn) { _ = c.Close() }(conn)
	_, _ = io.WriteString(conn, text)
}
