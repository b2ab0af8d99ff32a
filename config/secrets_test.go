package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// everything.yml has a secret in each place where one can be written; all of them end in the planted word.
func TestPlantedSecretsAppearNowhere(t *testing.T) {
	t.Parallel()
	config, err := loadFiles("testdata/good/everything.yml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/good/everything.yml")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), planted); n < 10 {
		t.Fatalf("only %d secrets are planted", n)
	}
	effective, err := config.YAML()
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&logged, nil), slog.NewJSONHandler(&logged, nil)} {
		logger := slog.New(handler)
		logger.Info("m", slog.Any("config", config), slog.Any("value", *config),
			slog.Any("client", config.HTTPClients["mtls"]), slog.Any("target", config.Targets[2]))
	}
	outputs := map[string]string{
		"YAML":     string(effective),
		"JSON":     string(asJSON),
		"log":      logged.String(),
		"%+v":      fmt.Sprintf("%+v", config),
		"%#v":      fmt.Sprintf("%#v", *config),
		"%v parts": fmt.Sprintf("%+v %+v %+v %+v", config.HTTPClients, config.Targets, config.Secrets, config.Warnings),
	}
	for name, out := range outputs {
		if i := strings.Index(out, planted); i >= 0 {
			t.Errorf("%s shows a secret: …%s", name, out[max(0, i-60):i+len(planted)])
		}
	}
}

func TestRedactorKnowsEverySecretOfTheConfiguration(t *testing.T) {
	t.Parallel()
	config, err := loadFiles("testdata/good/everything.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{
		"proxy-hunter22", "connect-hunter22", "header-hunter22", "other-hunter22", "oauth-hunter22", "tenant-hunter22", "basic-hunter22",
		"bearer-hunter22", "query-hunter22", "url-hunter22", "literal-hunter22", "variable-hunter22", "file-hunter22",
	} {
		if got := config.Redactor().Redact("the server says: bad key " + secret + "."); got != "the server says: bad key <secret>." {
			t.Errorf("got %s", got)
		}
	}
}

func TestWhatIsPassedOnToServersIsSecretByItsName(t *testing.T) {
	t.Parallel()
	config, problems := loadTexts(t, nil, "http_clients: {c: {oauth2: {client_id: i, client_secret_file: f, token_url: 'http://h', endpoint_params: {api_key: "+planted+"-one, region: eu-central}}}}\n"+
		"targets: [{name: a, model: m, url: h, client: c, endpoint: {type: chat, extra: {tokenizer: some/tokenizer, auth: [{password: "+planted+"-two}]}}}]\n")
	if problems != "" {
		t.Fatal(problems)
	}
	effective, err := config.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if text := string(effective); strings.Contains(text, planted) || !strings.Contains(text, "some/tokenizer") || !strings.Contains(text, "eu-central") {
		t.Errorf("got %s", text)
	}
	if got, want := config.Redactor().Redact(planted+"-one, "+planted+"-two, some/tokenizer"), "<secret>, <secret>, some/tokenizer"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRedactorKnowsThePasswordOfAURLWithoutScheme(t *testing.T) {
	t.Parallel()
	config, problems := loadTexts(t, nil, "targets: [{name: a, model: m, url: 'joe:"+planted+"-2@host/x?next=http://y', endpoint: {type: chat}}]\n")
	if problems != "" {
		t.Fatal(problems)
	}
	if got := config.Redactor().Redact("not for " + planted + "-2"); got != "not for <secret>" {
		t.Errorf("got %s", got)
	}
}

func TestErrorsShowNoSecretWhereverItIsWritten(t *testing.T) {
	t.Parallel()
	// The value of a variable and the beginning of a quoted text, in every place that takes a text.
	for pattern := range allStrings() {
		for _, value := range []string{"${API_KEY}", "'${API_KEY}'"} {
			text, _ := fileWith(pattern)
			text = strings.TrimSuffix(text, " 1\n") + " " + value + "\n"
			_, problems := loadTexts(t, nil, text)
			if strings.Contains(problems, planted) {
				t.Errorf("%s: %s", pattern, problems)
			}
		}
	}
}

func TestStrictSecretsReadsEveryFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yml")
	text := `secrets:
  vendor: {file: vendor.key}
  empty: {file: empty.key}
http_clients:
  default:
    tls_config: {ca_file: ca.pem}
    http_headers: {X-Key: {files: [header.key]}}
targets:
  - name: a
    url: http://h
    model: m
    endpoint: {type: chat, api_key_file: api.key}
`
	for name, content := range map[string]string{"c.yml": text, "empty.key": "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Load(Options{Files: []string{file}}); err != nil {
		t.Errorf("files are read although nobody asked for it: %v", err)
	}
	_, err := Load(Options{Files: []string{file}, StrictSecrets: true})
	want := strings.Join([]string{
		`c.yml:2:12: secrets.vendor.file: secret "vendor": stat vendor.key: no such file or directory`,
		`c.yml:3:11: secrets.empty.file: secret "empty": empty.key: is empty`,
		`c.yml:6:18: http_clients.default.tls_config.ca_file: open ca.pem: no such file or directory`,
		`c.yml:7:36: http_clients.default.http_headers.X-Key.files[0]: open header.key: no such file or directory`,
		`c.yml:12:28: targets[0].endpoint.api_key_file: secret "api_key of target a": stat api.key: no such file or directory`,
	}, "\n")
	got := ""
	if err != nil {
		got = strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, name := range []string{"vendor.key", "empty.key", "ca.pem", "header.key", "api.key"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("content\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Load(Options{Files: []string{file}, StrictSecrets: true}); err != nil {
		t.Errorf("all files are there: %v", err)
	}
}

func TestReadErrorsAreCountedBySecret(t *testing.T) {
	t.Parallel()
	config, problems := loadTexts(t, nil, `
secrets: {vendor: {file: absent}, value: {value: "${API_KEY}"}}
targets:
  - {name: a, url: "http://h", model: m, endpoint: {type: chat, secret: vendor}}
  - {name: b, url: "http://h", model: m, endpoint: {type: chat, api_key_file: absent}}
  - {name: c, url: "http://h", model: m, endpoint: {type: chat, api_key: "${API_KEY}"}}
`)
	if problems != "" {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(map[string]int64{"vendor": 0, "value": 0, "target:b": 0}, config.SecretReadErrors()); diff != "" {
		t.Errorf("before any read (-want +got):\n%s", diff)
	}
	generated, err := config.Generator()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := generated.Targets[0].Client.Credential(); err == nil {
		t.Error("an absent file gives a credential")
	}
	if diff := cmp.Diff(map[string]int64{"vendor": 1, "value": 0, "target:b": 0}, config.SecretReadErrors()); diff != "" {
		t.Errorf("after one (-want +got):\n%s", diff)
	}
}
