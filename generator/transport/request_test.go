package transport

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
)

func TestARequestIsWrittenAsItStandsOnTheWire(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		url    string
		header http.Header
		keep   bool
		want   string
		wrong  string
	}{
		{
			"on a fresh connection", "http://h:1/v1/chat?q=a%20b",
			http.Header{"B": {"2"}, "A": {"1", "x"}},
			false,
			"POST /v1/chat?q=a%20b HTTP/1.1\r\nHost: h:1\r\nContent-Length: 4\r\nConnection: close\r\nA: 1\r\nA: x\r\nB: 2\r\n\r\nbody", "",
		},
		{"on a kept connection", "http://h", nil, true, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody", ""},
		{"a name that is not ASCII", "https://bücher.example/", nil, true, "POST / HTTP/1.1\r\nHost: xn--bcher-kva.example\r\nContent-Length: 4\r\n\r\nbody", ""},
		{"an address with a zone", "http://[fe80::1%25eth0]:80/", nil, true, "POST / HTTP/1.1\r\nHost: [fe80::1]:80\r\nContent-Length: 4\r\n\r\nbody", ""},
		{
			"framing is not the caller's", "http://h/",
			http.Header{"Content-Length": {"9"}, "Transfer-Encoding": {"chunked"}, "Connection": {"upgrade"}},
			true,
			"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody", "",
		},
		{"a value with a line break", "http://h/", http.Header{"Authorization": {"secret\r\nX: y"}}, true, "", `invalid value of header "Authorization"`},
		{"a name with a space", "http://h/", http.Header{"a b": {"c"}}, true, "", `invalid header name "a b"`},
		{"another scheme", "ftp://h/", nil, true, "", `scheme must be http or https, got "ftp"`},
		{"no host", "http:///x", nil, true, "", `invalid host ""`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, tt.url, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			request.Header = tt.header
			var out bytes.Buffer
			err = writeRequest(&out, request, []byte("body"), tt.keep)
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) || strings.Contains(err.Error(), "secret") {
					t.Errorf("got %v, want an error with %q and no secret", err, tt.wrong)
				}
				return
			}
			if err != nil || out.String() != tt.want {
				t.Errorf("got %q, %v, want %q", out.String(), err, tt.want)
			}
		})
	}
}

func TestARequestGoesToThePortOfItsScheme(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"http://h/": "h 80", "https://h/": "h 443", "https://h:8443/": "h 8443", "http://[::1]/": "::1 80", "http://[fe80::1%25eth0]:81/": "fe80::1%eth0 81",
		"http://bücher.example/": "xn--bcher-kva.example 80",
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		host, port, err := hostPort(request)
		if got := host + " " + port; got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", url, got, err, want)
		}
	}
}
