package secret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestRedactURL(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, url, want string
	}{
		{"nothing to hide", "https://llm.example.net:8443/v1", "https://llm.example.net:8443/v1"},
		{"user and password", "https://joe:hunter22@llm.example.net/v1", "https://llm.example.net/v1"},
		{"user alone", "https://token@llm.example.net", "https://llm.example.net"},
		{"no scheme", "joe:hunter22@llm.example.net/v1?k=v", "llm.example.net/v1?k=<redacted>"},
		{"no scheme, but one in the query", "joe:hunter22@h/v1?next=http://x", "h/v1?next=<redacted>"},
		{"query keeps keys and their order", "http://h/p?b=1&a=2&b=3&flag", "http://h/p?b=<redacted>&a=<redacted>&b=<redacted>&flag"},
		{"fragment goes", "http://h/p#access_token=x", "http://h/p"},
		{"escaped path stays escaped", "http://h/a%2Fb", "http://h/a%2Fb"},
		{"not a URL", "http://[::1:80/hunter22", "<redacted>"},
		{"bad escape", "http://h/%zz?key=hunter22", "<redacted>"},
		{"empty", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := RedactURL(tt.url); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAURLIsPublicOrSecretInEachOfItsParts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, url, public string
		secrets           []string
	}{
		{"nothing to hide", "https://h:8443/v1", "https://h:8443/v1", nil},
		{"user, password and query", "https://joe:hunter22@h/v1?a=one&b=two#f", "https://h/v1", []string{"hunter22", "joe", "one", "two"}},
		{"user alone", "https://token@h", "https://h", []string{"", "token"}},
		{"no scheme", "joe:hunter22@h/v1", "h/v1", []string{"hunter22", "joe"}},
		{"no scheme, but one in the query", "joe:hunter22@h/v1?next=http://x", "h/v1", []string{"http://x", "hunter22", "joe"}},
		{"not a URL", "http://[::1:80/hunter22", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			u := URL(tt.url)
			if got := u.Public(); got != tt.public {
				t.Errorf("public is %q, want %q", got, tt.public)
			}
			if got := slices.Sorted(slices.Values(u.Secrets())); !slices.Equal(got, tt.secrets) {
				t.Errorf("secrets are %q, want %q", got, tt.secrets)
			}
		})
	}
}

func TestURLPrintsRedacted(t *testing.T) {
	t.Parallel()
	type holder struct{ Base URL }
	h := holder{"https://joe:hunter22@h/p?key=hunter22"}
	j, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	y, err := yaml.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&logged, nil))
	logger.Info("m", slog.Any("url", h.Base))
	for _, out := range []string{fmt.Sprintf("%v %+v %#v %q %d", h, h, h, h.Base, h.Base), string(j), string(y), logged.String()} {
		if strings.Contains(out, "hunter22") || !strings.Contains(out, "/p?key=") {
			t.Errorf("got %s", out)
		}
	}
	if got := h.Base.Reveal(); got != string(h.Base) {
		t.Errorf("Reveal gives %q", got)
	}
}

func TestSensitiveHeader(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"Authorization": true, "proxy-authorization": true, "X-API-Key": true, "api_key": true, "apikey": true, "X-Auth-Token": true,
		"Cookie": true, "Set-Cookie": true, "X-Client-Secret": true, "Ocp-Apim-Subscription-Key": true, "sig": true, "key": true, "code": true, "X-Signed-By": false, "X-Auth-Key": true, "private_key": true,
		"credentials": true, "tokenizer": false, "prompt_cache_key": false, "keyboard": false, "X-Team": false, "Accept": false, "anthropic-version": false,
	} {
		if got := SensitiveHeader(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func FuzzRedactURL(f *testing.F) {
	for _, s := range []string{"https://u:p@h/p?k=v#f", "u:p@h", "//u:p@h", "mailto:u@h", "http://u:p@h:99999", "?k=v", "a://b://c@d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, prefix string) {
		// Whatever comes before it, a value in the place of the user, the password or a query value must not come out.
		const value = "hunter22hunter22"
		for _, raw := range []string{"https://" + value + ":x@h/" + prefix, "https://x:" + value + "@h/" + prefix, "https://h/" + urlPath(prefix) + "?k=" + value} {
			if got := RedactURL(raw); strings.Contains(got, value) {
				t.Errorf("%q became %q", raw, got)
			}
		}
	})
}

// urlPath cuts what would end the path.
func urlPath(s string) string {
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		return s[:i]
	}
	return s
}

func TestAddressIsThatOfAnHTTPServer(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"h:8000/metrics":                 "http://h:8000/metrics",
		"https://u:p@h/x?key=s#fragment": "https://u:p@h/x?key=s",
		"[::1]:9400":                     "http://[::1]:9400",
		"h/a://b":                        "http://h/a://b",
	} {
		got, err := URL(raw).Address()
		if err != nil || got.String() != want {
			t.Errorf("%s is %v, %v, want %s", raw, got, err, want)
		}
	}
	for raw, want := range map[string]string{
		"ftp://h":                     `scheme must be http or https, got "ftp"`,
		"http://":                     "has no host",
		"http://h:0":                  "port must be 1 to 65535",
		"http://u:p w@%zz":            "is not a URL",
		"http://user:123456/p w@host": "port must be 1 to 65535",
	} {
		_, err := URL(raw).Address()
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s gives %v, want %s", raw, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "p w") || strings.Contains(err.Error(), "123")) {
			t.Errorf("%v quotes a password", err)
		}
	}
}

func TestURLsInATextKeepWhatIsPublic(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`Get "http://sd.example/t?sig=a%2Fb": dial tcp 127.0.0.1:1: connection refused`: `Get "http://sd.example/t?sig=<redacted>": dial tcp 127.0.0.1:1: connection refused`,
		"see https://u:p@a.example/x, or http://b.example:80/y.":                        "see https://a.example/x, or http://b.example:80/y.",
		"redis://:hunter@a:1/0 and mailto:me@b.example":                                 "redis://a:1/0 and mailto:me@b.example",
		"http://a.example/%zz?secret":                                                   "<redacted>",
		"http://a.example/?sig=<redacted>&key=<secret>, once more":                      "http://a.example/?sig=<redacted>&key=<redacted> once more",
		"no URL: a://": "no URL: a://",
	} {
		if got := RedactURLs(text); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestHeadersAreShownWithoutCredentials(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, value, want string }{
		{"Set-Cookie", "session=1", Mask},
		{"Location", "/login?ticket=1", "/login?ticket=<redacted>"},
		{"Location", "https://u:p@a.example/x?ticket=1", "https://a.example/x?ticket=<redacted>"},
		{"Link", "<https://a.example/x?ticket=1>; rel=next", "<https://a.example/x?ticket=<redacted>>; rel=next"},
		{"Content-Type", "text/event-stream", "text/event-stream"},
	} {
		if got := RedactHeader(test.name, test.value); got != test.want {
			t.Errorf("%s: %s\n got %s\nwant %s", test.name, test.value, got, test.want)
		}
	}
}
