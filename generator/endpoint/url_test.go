package endpoint

import (
	"strings"
	"testing"
)

func TestURLJoinsBaseAndPath(t *testing.T) {
	t.Parallel()
	const chat = "/v1/chat/completions"
	for _, c := range []struct{ name, base, path, want string }{
		{"a bare host", "http://h:8000", chat, "http://h:8000/v1/chat/completions"},
		{"a missing scheme is http", "localhost:8000", chat, "http://localhost:8000/v1/chat/completions"},
		{"a missing scheme before a query with a URL", "h/a?next=https://x", chat, "http://h/a/v1/chat/completions?next=https://x"},
		{"schemes in any case", "HTTPS://h", chat, "https://h/v1/chat/completions"},
		{"a slash at the end", "https://h/", chat, "https://h/v1/chat/completions"},
		{"several slashes at the end", "https://h//", chat, "https://h/v1/chat/completions"},
		{"one v1 is enough", "https://h/v1", chat, "https://h/v1/chat/completions"},
		{"one v1 is enough, with a slash", "https://h/v1/", chat, "https://h/v1/chat/completions"},
		{"one v1 is enough, below a prefix", "https://h/openai/v1", "/v1/completions", "https://h/openai/v1/completions"},
		{"a v1 that only ends a word stays", "https://h/apiv1", chat, "https://h/apiv1/v1/chat/completions"},
		{"a v1 is kept before another version", "https://h/v1", "/v1beta/chat", "https://h/v1/v1beta/chat"},
		{"a v1 is kept before another path", "https://h/v1", "/chat", "https://h/v1/chat"},
		{"the whole path is there", "https://h/v1/chat/completions", chat, "https://h/v1/chat/completions"},
		{"the whole path is there, below a prefix", "https://h/a/v1/chat/completions/", chat, "https://h/a/v1/chat/completions"},
		{"a configured path", "https://h/v1", "/api/chat", "https://h/v1/api/chat"},
		{"a configured path that ends in a slash", "https://h/chat", "/chat/", "https://h/chat/"},
		{"a configured path as people write it", "https://h", "/é \"x\"", "https://h/%C3%A9%20%22x%22"},
		{"a slash adds nothing", "https://h/custom/run", "/", "https://h/custom/run"},
		{"a slash adds nothing to a bare host", "https://h", "/", "https://h"},
		{
			"a query survives", "https://h/openai/deployments/d?api-version=2025-01-01&x=a%20b", "/chat/completions",
			"https://h/openai/deployments/d/chat/completions?api-version=2025-01-01&x=a%20b",
		},
		{"escapes survive", "https://h/a%2Fb", "/c%20d", "https://h/a%2Fb/c%20d"},
		{"an IPv6 address", "http://[::1]:8000", chat, "http://[::1]:8000/v1/chat/completions"},
		{"an IPv6 address without a port", "[::1]", chat, "http://[::1]/v1/chat/completions"},
		{"the greatest port", "h:65535", chat, "http://h:65535/v1/chat/completions"},
		{"credentials survive", "https://u:p@h", chat, "https://u:p@h/v1/chat/completions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := URL(c.base, c.path)
			if err != nil || got != c.want {
				t.Fatalf("got %q, %v, want %q", got, err, c.want)
			}
			if errs := ValidateURL("url", c.base); errs != nil {
				t.Errorf("ValidateURL: %v", errs)
			}
		})
	}
}

func TestBadURLsAreRefusedWithoutQuotingThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, base, want string }{
		{"empty", "", "targets[0].url: must not be empty"},
		{"no host", "http://", "targets[0].url: has no host"},
		{"no host but a port", "http://:8000/?k=secret", "targets[0].url: has no host"},
		{"another scheme", "ftp://secret@h", `targets[0].url: scheme must be http or https, got "ftp"`},
		{"white space", "http://h/ secret", "targets[0].url: must not have white space or control characters"},
		{"white space at the end", "http://h ", "targets[0].url: must not have white space or control characters"},
		{"a control character", "http://h/\x00secret", "targets[0].url: must not have white space or control characters"},
		{"port 0", "http://h:0", `targets[0].url: port must be 1 to 65535, got "0"`},
		{"a port that is too great", "http://h:65536", `targets[0].url: port must be 1 to 65535, got "65536"`},
		{"a port of many digits", "http://h:99999999999999999999", `targets[0].url: port must be 1 to 65535, got "99999999999999999999"`},
		{"a colon without a port", "http://h:", `targets[0].url: port must be 1 to 65535, got ""`},
		{"a port that is no number", "http://h:x1", `targets[0].url: is not a URL: invalid port ":x1" after host`},
		{"a password with a slash", "http://joe:sec/ret@h", `targets[0].url: is not a URL, perhaps because of a character in the password that must be escaped, as %2F for a slash`},
		{"a bad escape in the path", "http://h/secret%zz", `targets[0].url: is not a URL: invalid URL escape "%zz"`},
		{"a fragment", "http://h/#secret", "targets[0].url: must not have a fragment"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			errs := ValidateURL("targets[0].url", c.base)
			if len(errs) != 1 || errs[0].Error() != c.want {
				t.Errorf("got %v, want %q", errs, c.want)
			}
			if _, err := URL(c.base, "/v1"); err == nil {
				t.Error("URL accepts it")
			} else if strings.Contains(err.Error(), "secret") {
				t.Errorf("%v quotes the URL", err)
			}
		})
	}
}

func TestURLRefusesAPathWithABadEscape(t *testing.T) {
	t.Parallel()
	if got, err := URL("http://h", "/%zz"); err == nil {
		t.Errorf("got %q", got)
	}
}

// What URL returns must be valid as a base again, and joining the same path once more must not change it.
func FuzzURL(f *testing.F) {
	for _, base := range []string{"h", "http://h/v1", "https://u:p@[::1]:8000/a%2Fb/?x=1", "h//v1//", "ftp://h", "http://h#", `h/"é`} {
		for _, path := range []string{"/", "/v1/chat/completions", "/v1/", "//", "/a%2Fb/", `/"é`} {
			f.Add(base, path)
		}
	}
	f.Fuzz(func(t *testing.T, base, path string) {
		if path == "" || validatePath("", path) != nil {
			return
		}
		once, err := URL(base, path)
		if err != nil {
			return
		}
		if errs := ValidateURL("", once); errs != nil {
			t.Fatalf("%q is not valid: %v", once, errs)
		}
		if twice, err := URL(once, path); err != nil || twice != once {
			t.Fatalf("%q becomes %q, %v", once, twice, err)
		}
	})
}

func TestParametersReplaceThoseOfTheirName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, base string
		params     map[string]string
		want       string
	}{
		{"none", "h?a=1", nil, "http://h/v1?a=1"},
		{"a new one", "h", map[string]string{"api-version": "2025-01-01"}, "http://h/v1?api-version=2025-01-01"},
		{"others stay as they stand", "h?x=a%20b&y&z=+", map[string]string{"b": "2", "a": "1 é&"}, "http://h/v1?x=a%20b&y&z=+&a=1+%C3%A9%26&b=2"},
		{"the same one, however it is written, and twice", "h?a=1&%61=2&b=3&a", map[string]string{"a": "4"}, "http://h/v1?b=3&a=4"},
		{"a name that is no escape", "h?%zz=1&a=2", map[string]string{"a": "3"}, "http://h/v1?%zz=1&a=3"},
		{"an empty value", "h?a=1", map[string]string{"a": ""}, "http://h/v1?a="},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := Config{URLParams: c.params}
			if got, err := cfg.URL(c.base, "/v1"); err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
	cfg := Config{URLParams: map[string]string{"a": "1"}}
	if got, err := cfg.URL("ftp://h", "/v1"); err == nil {
		t.Errorf("got %q", got)
	}
}
