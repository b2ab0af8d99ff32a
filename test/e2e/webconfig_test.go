//go:build e2e

package e2e

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// visitor is somebody who asks it.
type visitor struct {
	trusts, shows  *authority // whose certificates; nil = none
	name, password string
	header         http.Header
}

// ask gives the status and the body of an answer; an error is one of the connection. Of a stream it is the first event.
func (v *visitor) ask(t *testing.T, method, address string) (int, string, error) {
	t.Helper()
	way := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	defer way.CloseIdleConnections()
	if v.trusts != nil {
		way.TLSClientConfig.RootCAs = x509.NewCertPool()
		way.TLSClientConfig.RootCAs.AddCert(v.trusts.certificate)
	}
	if v.shows != nil {
		pair, err := tls.LoadX509KeyPair(v.shows.issue(t, "visitor"))
		if err != nil {
			t.Fatal(err)
		}
		// Whatever authorities the server names: this one shows what it has.
		way.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	r, err := http.NewRequestWithContext(process.Within(t, patience), method, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(r.Header, v.header)
	if v.name != "" {
		r.SetBasicAuth(v.name, v.password)
	}
	resp, err := way.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	if strings.HasSuffix(address, "/events") && resp.StatusCode == http.StatusOK {
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "event:") {
				return resp.StatusCode, lines.Text(), nil
			}
		}
		return resp.StatusCode, "", lines.Err()
	}
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

// passwords is the file of users in a web configuration.
func passwords(t *testing.T, of map[string]string) string {
	t.Helper()
	out := "basic_auth_users:\n"
	for name, password := range of {
		hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
		if err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprintf("  %s: %q\n", name, hash)
	}
	return out
}

// serveBehind starts a daemon behind a web configuration, that may be asked over TLS or not, and waits until a visitor is let in.
func serveBehind(t *testing.T, config, web string, first *visitor, scheme string) exporter {
	t.Helper()
	a := address(t)
	e := exporter{process.ForTest(t, nil, binary, "serve", "--config.file="+file(t, "aiperf-exporter.yml", config), "--web.config.file="+web,
		"--web.enable-admin-api", "--web.listen-address="+a), scheme + "://" + a}
	eventually(t, patience, func() error {
		code, text, err := first.ask(t, http.MethodGet, e.url+"/-/ready")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("status %d: %s", code, text)
		}
		return err
	})
	return e
}

func TestThePagesAreBehindTLSCertificatesAndPasswords(t *testing.T) {
	t.Parallel()
	ours, others := newAuthority(t), newAuthority(t)
	certificate, key := ours.issue(t, "server")
	security := fmt.Sprintf("tls_server_config: {cert_file: %q, key_file: %q, client_auth_type: RequireAndVerifyClientCert, client_ca_file: %q}\n",
		certificate, key, ours.file)
	web := filepath.Join(t.TempDir(), "web.yml")
	write := func(password string) {
		t.Helper()
		if err := os.WriteFile(web+".next", []byte(security+passwords(t, map[string]string{"admin": password})), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(web+".next", web); err != nil {
			t.Fatal(err)
		}
	}
	write("first-password")
	if out, err := exec.CommandContext(process.Within(t, patience), binary, "check", "web-config", web).CombinedOutput(); err != nil {
		t.Errorf("check web-config: %v %s", err, out)
	}
	p := startPeer(t, plain)
	config := fmt.Sprintf(pausable+"modules:\n  chat: {model: peer, endpoint: {type: chat}, workload: short}\nprobe: {allowed_targets: [127.0.0.1]}\n", p.url)
	friend := &visitor{trusts: ours, shows: ours, name: "admin", password: "first-password"}
	e := serveBehind(t, config, web, friend, "https")
	p.waitFor(t, "one", 3)

	for path, want := range map[string]string{
		"/": "<html", "/targets/one": "one", "/api/v1/targets": `"name":"one"`, "/api/v1/events": "event: targets", "/metrics": "aiperf_requests_total",
		"/probe?module=chat&target=" + url.QueryEscape(p.url): "probe_success 1", "/-/healthy": "healthy",
	} {
		code, text, err := friend.ask(t, http.MethodGet, e.url+path)
		if err != nil || code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: status %d, %v, want %s in %.300s", path, code, err, want, text)
		}
	}
	if code, text, err := friend.ask(t, http.MethodPost, e.url+"/-/pause?target=other"); code != http.StatusOK {
		t.Errorf("pause: status %d, %v, %s", code, err, text)
	}

	for name, test := range map[string]struct {
		visitor visitor
		want    int // 0: no connection
	}{
		"no certificate":                      {visitor{trusts: ours, name: "admin", password: "first-password"}, 0},
		"a certificate of somebody else":      {visitor{trusts: ours, shows: others, name: "admin", password: "first-password"}, 0},
		"one that does not trust the daemon":  {visitor{trusts: others, shows: ours, name: "admin", password: "first-password"}, 0},
		"no password":                         {visitor{trusts: ours, shows: ours}, http.StatusUnauthorized},
		"a wrong password":                    {visitor{trusts: ours, shows: ours, name: "admin", password: "wrong"}, http.StatusUnauthorized},
		"an unknown user":                     {visitor{trusts: ours, shows: ours, name: "nobody", password: "first-password"}, http.StatusUnauthorized},
		"the hash in place of the password":   {visitor{trusts: ours, shows: ours, name: "admin", password: "$2a$04$"}, http.StatusUnauthorized},
		"all of it, from a page of elsewhere": {visitor{ours, ours, "admin", "first-password", http.Header{"Sec-Fetch-Site": {"cross-site"}}}, http.StatusForbidden},
	} {
		for _, path := range []string{"/", "/metrics", "/-/healthy", "/probe?target=one", "/api/v1/events", "/nothing"} {
			if test.want == http.StatusForbidden {
				path = "/-/pause?target=one"
			}
			method := http.MethodGet
			if strings.HasPrefix(path, "/-/pause") {
				method = http.MethodPost
			}
			if code, text, err := test.visitor.ask(t, method, e.url+path); code != test.want || (code == 0) != (err != nil) {
				t.Errorf("%s asks for %s: status %d, %v, want %d: %.100s", name, path, code, err, test.want, text)
			}
		}
	}
	if code, _, err := friend.ask(t, http.MethodGet, strings.Replace(e.url, "https:", "http:", 1)+"/metrics"); code == http.StatusOK {
		t.Errorf("without TLS: status %d, %v", code, err)
	}

	write("second-password") // without a restart
	if code, _, err := friend.ask(t, http.MethodGet, e.url+"/metrics"); code != http.StatusUnauthorized {
		t.Errorf("the old password: status %d, %v", code, err)
	}
	friend.password = "second-password"
	if code, _, err := friend.ask(t, http.MethodGet, e.url+"/metrics"); code != http.StatusOK {
		t.Errorf("the new password: status %d, %v", code, err)
	}
}

// The limit of the web configuration is one for all pages.
func TestTheRateOfRequestsIsLimitedForAllPagesTogether(t *testing.T) {
	t.Parallel()
	p := startPeer(t, plain)
	web := file(t, "web.yml", "rate_limit: {interval: 1h, burst: 40}\n")
	anybody := &visitor{}
	e := serveBehind(t, fmt.Sprintf(pausable, p.url), web, anybody, "http")
	refused := 0
	for range 45 {
		code, _, err := anybody.ask(t, http.MethodGet, e.url+"/metrics")
		if err != nil {
			t.Fatal(err)
		}
		if code == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused < 5 {
		t.Errorf("%d of 45 were refused, want 5 at least", refused)
	}
	for _, path := range []string{"/-/healthy", "/-/ready", "/", "/api/v1/targets", "/probe?target=one"} {
		if code, _, err := anybody.ask(t, http.MethodGet, e.url+path); code != http.StatusTooManyRequests {
			t.Errorf("%s: status %d, %v, want %d", path, code, err, http.StatusTooManyRequests)
		}
	}
	p.waitFor(t, "one", len(p.asked("one"))+10) // which does not stop it
}

func TestAWrongWebConfigurationIsTold(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"an unknown key":                      "basic_auth_userz: {admin: x}\n",
		"a certificate without a key":         "tls_server_config: {cert_file: x.crt}\n",
		"files that are not there":            "tls_server_config: {cert_file: x.crt, key_file: x.key}\n",
		"a header that must not be set":       "http_server_config: {headers: {X-Anything: y}}\n",
		"an authority that nobody asks for":   "tls_server_config: {cert_file: x.crt, key_file: x.key, client_auth_type: NoClientCert, client_ca_file: x.crt}\n",
		"what is not YAML":                    "a: [\n",
		"a password that is not a bcrypt one": "basic_auth_users: {admin: plain-text-password}\n",
	} {
		path := file(t, "web.yml", content)
		out, err := exec.CommandContext(process.Within(t, patience), binary, "check", "web-config", path).CombinedOutput()
		if err == nil {
			t.Errorf("%s is not found", name)
		}
		if strings.Contains(string(out), "plain-text-password") {
			t.Errorf("%s is shown: %s", name, out)
		}
	}
}
