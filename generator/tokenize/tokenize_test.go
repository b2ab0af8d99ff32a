package tokenize_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/generator/tokenize"
)

// question is what any server may be asked.
type question struct {
	path             string
	Model            string
	Prompt           *string
	AddSpecialTokens bool `json:"add_special_tokens"`
	Content          *string
	AddSpecial       bool `json:"add_special"`
	ParseSpecial     bool `json:"parse_special"`
	Inputs           *string
	Messages         []struct{ Role, Content string }
}

const (
	opening  = 1 // special tokens that open a prompt
	template = 7 // tokens that the template adds beside those
)

// words counts the tokens of the scripted servers.
func words(text string) int { return len(strings.Fields(text)) }

func list(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("5,", n), ",") + "]" }

// The servers answer in the shapes of those whose names they have, and refuse what those refuse.
var servers = map[string]func(q *question) (status int, answer string){
	"vLLM": func(q *question) (int, string) {
		n := 0
		switch {
		case q.path != "/tokenize":
			return http.StatusNotFound, `{"detail":"Not Found"}`
		case q.Model != "m":
			return http.StatusNotFound, `{"error":{"message":"no such model"}}`
		case q.Messages != nil:
			n = words(q.Messages[0].Content) + opening + template
		case q.Prompt != nil:
			n = words(*q.Prompt)
			if q.AddSpecialTokens {
				n += opening
			}
		default:
			return http.StatusBadRequest, `{"error":{}}`
		}
		return http.StatusOK, fmt.Sprintf(`{"count":%d,"max_model_len":2048,"tokens":%s,"token_strs":null}`, n, list(n))
	},
	"SGLang": func(q *question) (int, string) {
		if q.path != "/tokenize" || q.Prompt == nil {
			return http.StatusUnprocessableEntity, `{"detail":[]}`
		}
		n := words(*q.Prompt)
		if q.AddSpecialTokens {
			n += opening
		}
		return http.StatusOK, fmt.Sprintf(`{"tokens":%s,"count":%d,"max_model_len":32768}`, list(n), n)
	},
	"llama.cpp": func(q *question) (int, string) {
		switch {
		case q.path == "/apply-template":
			return http.StatusOK, `{"prompt":"` + strings.Repeat("<t> ", template) + q.Messages[0].Content + `"}`
		case q.path != "/tokenize":
			return http.StatusNotFound, `{"error":{"code":404}}`
		case q.Content == nil:
			return http.StatusOK, `{"tokens":[]}`
		}
		n := words(*q.Content)
		if strings.HasPrefix(*q.Content, "<t>") && !q.ParseSpecial {
			n += 100 // the template as ordinary text
		}
		if q.AddSpecial {
			n += opening
		}
		return http.StatusOK, `{"tokens":` + list(n) + `}`
	},
	"TGI": func(q *question) (int, string) {
		if q.path != "/tokenize" || q.Inputs == nil {
			return http.StatusUnprocessableEntity, "missing field"
		}
		tokens := []string{`{"id":1,"text":"","start":0,"stop":0}`}
		for range words(*q.Inputs) {
			tokens = append(tokens, `{"id":5,"text":"a","start":3,"stop":4}`)
		}
		return http.StatusOK, "[" + strings.Join(tokens, ",") + "]"
	},
}

// start serves until the test ends, and keeps what was asked.
func start(t *testing.T, answer func(*question) (int, string)) (url string, asked func() []http.Request) {
	t.Helper()
	var mu sync.Mutex
	var requests []http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := question{path: r.URL.Path}
		if body, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(body, &q) != nil || r.Method != http.MethodPost {
			t.Errorf("%s %s %q: %v", r.Method, r.URL, body, err)
		}
		mu.Lock()
		requests = append(requests, *r)
		mu.Unlock()
		status, body := answer(&q)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []http.Request {
		mu.Lock()
		defer mu.Unlock()
		return requests
	}
}

func newClient(t *testing.T, c tokenize.Config) *tokenize.Client {
	t.Helper()
	c.Model = "m"
	client, err := tokenize.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestEachServerIsUnderstood(t *testing.T) {
	t.Parallel()
	const text = "four words of text"
	for _, test := range []struct {
		server string
		chat   bool
		want   int
		whole  bool
		calls  int // for the first count and the second
	}{
		{"vLLM", true, 4 + opening + template, true, 1 + 1},
		{"llama.cpp", true, 4 + opening + template, true, 3 + 2},
		{"SGLang", true, 4, false, 3 + 1},
		{"TGI", true, 4, false, 3 + 1},
		{"vLLM", false, 4 + opening, true, 1 + 1},
		{"llama.cpp", false, 4 + opening, true, 1 + 1},
		{"SGLang", false, 4 + opening, true, 1 + 1},
		{"TGI", false, 4 + opening, true, 1 + 1},
	} {
		t.Run(fmt.Sprintf("%s, chat %v", test.server, test.chat), func(t *testing.T) {
			t.Parallel()
			url, asked := start(t, servers[test.server])
			c := newClient(t, tokenize.Config{URL: url + "/v1", Chat: test.chat})
			for range 2 {
				got, whole, err := c.Count(t.Context(), text)
				if err != nil || got != test.want || whole != test.whole {
					t.Errorf("got %d tokens, whole %v, %v, want %d, %v", got, whole, err, test.want, test.whole)
				}
			}
			if n := len(asked()); n != test.calls {
				t.Errorf("%d calls, want %d: what has been answered is asked again", n, test.calls)
			}
		})
	}
}

func TestCallsCarryWhatTheRequestsOfTheTargetCarry(t *testing.T) {
	t.Parallel()
	url, asked := start(t, servers["vLLM"])
	c := newClient(t, tokenize.Config{
		URL: url + "/proxy/v1/chat/completions?version=2", Header: http.Header{"User-Agent": {"us"}},
		HTTP:       promconfig.HTTPClientConfig{BasicAuth: &promconfig.BasicAuth{Username: "u", Password: "p"}},
		Credential: func() (string, string, error) { return "Api-Key", "k", nil },
	})
	if _, _, err := c.Count(t.Context(), "a"); err == nil {
		t.Error("a server of another path has answered")
	}
	r := asked()[0]
	user, password, _ := r.BasicAuth()
	if r.URL.String() != "/proxy/tokenize?version=2" || user != "u" || password != "p" || r.Header.Get("Api-Key") != "k" || r.UserAgent() != "us" {
		t.Errorf("got %s with %v", r.URL, r.Header)
	}
}

func TestWhatIsNoCountIsAnError(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status       int
		answer, want string
	}{
		"another server":         {http.StatusNotFound, "no", "status 404"},
		"a redirect":             {http.StatusTemporaryRedirect, "", "status 307"},
		"a page":                 {http.StatusOK, "<html>", "invalid character"},
		"no tokens":              {http.StatusOK, `{"tokens":[],"count":0}`, "answer without tokens"},
		"a list of something":    {http.StatusOK, `["a"]`, "cannot unmarshal"},
		"an impossible count":    {http.StatusOK, `{"count":-1}`, "answer without tokens"},
		"an answer without end":  {http.StatusOK, strings.Repeat(" ", 5<<20), "answer is larger than 4194304 bytes"},
		"a count that is a text": {http.StatusOK, `{"count":"4"}`, "cannot unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := start(t, func(*question) (int, string) { return test.status, test.answer })
			_, _, err := newClient(t, tokenize.Config{URL: url}).Count(t.Context(), "a")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestErrorsSayNothingOfTheURL(t *testing.T) {
	t.Parallel()
	c := newClient(t, tokenize.Config{URL: "http://127.0.0.1:1/?key=secret"})
	if _, _, err := c.Count(t.Context(), "a"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	if _, err := tokenize.New(tokenize.Config{URL: "http://secret\x00"}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	c = newClient(t, tokenize.Config{URL: "http://127.0.0.1:1", Credential: func() (string, string, error) { return "", "", errors.New("no such file") }})
	if _, _, err := c.Count(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v", err)
	}
}
