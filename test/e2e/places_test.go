//go:build e2e && secrets

package e2e

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	promconfig "github.com/prometheus/common/config"
	sdhttp "github.com/prometheus/prometheus/discovery/http"

	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/discovery"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// places are the keys of a configuration that take a secret, and what is planted there.
var places = map[string]string{
	"collectors.gpu.amd.urls": "amdpass", "collectors.gpu.dcgm.urls": "gpupass", "collectors.gpu.triton.urls": "tritonpass",

	"http_clients.*.authorization.credentials": "bearer", "http_clients.*.authorization.credentials_file": "bearerfile",
	"http_clients.*.basic_auth.password": "basicpass", "http_clients.*.basic_auth.password_file": "basicfile",
	"http_clients.*.bearer_token": "bearertoken", "http_clients.*.bearer_token_file": "bearertokenfile",
	"http_clients.*.http_headers.*.files": "hdrfile", "http_clients.*.http_headers.*.secrets": "hdrsecret", "http_clients.*.http_headers.*.values": "hdrvalue",
	"http_clients.*.oauth2.client_certificate_key": "oauthkey", "http_clients.*.oauth2.client_certificate_key_file": "oauthkeyfile",
	"http_clients.*.oauth2.client_secret": "oauth", "http_clients.*.oauth2.client_secret_file": "oauthfile",
	"http_clients.*.oauth2.endpoint_params.*": "oauthparam", "http_clients.*.oauth2.token_url": "oauthquery",
	"http_clients.*.oauth2.proxy_connect_header.*": "oauthconnect", "http_clients.*.oauth2.proxy_url": "oauthproxy",
	"http_clients.*.oauth2.tls_config.key": "oauthtls", "http_clients.*.oauth2.tls_config.key_file": "oauthtlsfile",
	"http_clients.*.proxy_connect_header.*": "connect", "http_clients.*.proxy_url": "proxypass",
	"http_clients.*.tls_config.key": "tls", "http_clients.*.tls_config.key_file": "tlsfile",

	"modules.*.endpoint.api_key": "modkey", "modules.*.endpoint.api_key_file": "modfile",
	"modules.*.endpoint.headers.*": "modheader", "modules.*.endpoint.url_params.*": "modparam",

	"otlp.headers.*": "otlp", "otlp.headers_file": "otlpfile", "otlp.tls_config.key_file": "otlptlsfile",

	"secrets.*.file": "file", "secrets.*.value": "value",

	"target_discovery.http_sd_configs.basic_auth.password": "sdbasic", "target_discovery.http_sd_configs.http_headers.*.values": "sdheader",
	"target_discovery.http_sd_configs.authorization.credentials_file": "sdfile",
	"target_discovery.http_sd_configs.tls_config.key":                 "sdtls", "target_discovery.http_sd_configs.url": "sdpass",
	"target_discovery.template.endpoint.api_key": "template", "target_discovery.template.endpoint.api_key_file": "templatefile",

	"targets.endpoint.api_key": "apikey", "targets.endpoint.api_key_file": "apifile", "targets.endpoint.headers.*": "epheader",
	"targets.endpoint.url_params.*": "epparam", "targets.server.metrics_url": "metricspass", "targets.server.metrics_urls": "metricspasses",
	"targets.url": "urlpass",
}

// sameAs are parts of a configuration that are read by the same code as others.
var sameAs = strings.NewReplacer("target_discovery.http_sd_configs.", "http_clients.*.", "target_discovery.template.", "targets.")

// secretTexts are the names of keys whose text is a secret, or has one in it, and of those whose file has.
var secretTexts = regexp.MustCompile(`(password|secret|credentials|token|key|headers)_file$|^secrets\.\*\.file$|headers\.\*\.files$|[._]url$|headers\.\*$|\.values$|params\.\*$`)

// secretTypes are those of keys that take a secret, and of addresses, which may have one in them.
var secretTypes = []reflect.Type{
	reflect.TypeFor[secret.Secret](), reflect.TypeFor[secret.URL](), reflect.TypeFor[promconfig.Secret](), reflect.TypeFor[promconfig.URL](),
}

// secretKeys are the keys below path, by the type of their value, that take a secret.
func secretKeys(path string, of reflect.Type) []string {
	if slices.Contains(secretTypes, of) || of.Kind() == reflect.String && secretTexts.MatchString(path) {
		return []string{path}
	}
	if of == reflect.TypeFor[discovery.Mechanisms]() { // of which the others take no secret, or are those of another build
		return secretKeys(path+".http_sd_configs", reflect.TypeFor[sdhttp.SDConfig]())
	}
	var out []string
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice:
		return secretKeys(path, of.Elem())
	case reflect.Map:
		return secretKeys(path+".*", of.Elem())
	case reflect.Struct:
		for f := range of.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			switch {
			case !f.IsExported() || name == "-":
			case name == "" || options == "inline":
				out = append(out, secretKeys(path, f.Type)...)
			default:
				out = append(out, secretKeys(strings.TrimPrefix(path+"."+name, "."), f.Type)...)
			}
		}
	}
	return out
}

func TestASecretIsPlantedAtEveryPlaceThatTakesOne(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	for _, key := range secretKeys("", reflect.TypeFor[config.Config]()) {
		there[key] = true
		if name, ok := places[key]; !ok && places[sameAs.Replace(key)] == "" {
			t.Errorf("%s takes a secret, and none is planted there", key)
		} else if _, planted := planted[name]; ok && !planted {
			t.Errorf("%s: no secret has the name %s", key, name)
		}
	}
	const whole = leaky + leakyOTLP
	for key, name := range places {
		if !there[key] {
			t.Errorf("there is no key %s", key)
		}
		if private, ok := keyFiles[name]; !ok && name != "value" && name != "otlpfile" && !strings.Contains(whole, "%["+name+"]") {
			t.Errorf("%s: %s is not in the configuration (a private key: %v)", key, name, private)
		}
	}
}
