//go:build e2e && secrets

package e2e

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// Marks stand at both ends of every secret, so that each half of one is found, and nothing else is. They are longer than what of the beginning of a
// secret may be shown.
const (
	headMark = "Hd7wXq4mZk"
	tailMark = "Vz9kTl3pRs"
)

// plant is the secret of a place. Between its halves is what JSON, YAML and URLs spell differently, and no escape: who reads one there has another secret.
func plant(name string) string { return headMark + name + `/"+&=%~` + name + tailMark }

// planted are the secrets, and whether the parrot hears of them from a daemon that has just been started.
var planted = map[string]bool{
	"file": true, "value": true, "apikey": true, "apifile": true, "urlpass": true, "urlquery": true, "epheader": true, "epparam": true, "defheader": true,
	"basicpass": true, "basicfile": true, "bearer": true, "bearerfile": true, "bearertoken": true, "bearertokenfile": true,
	"oauth": true, "oauthquery": true, "oauthfile": true, "oauthproxy": true, "oauthparam": true, "oauthconnect": true, "proxypass": true, "connect": true,
	"hdrvalue": true, "hdrsecret": true, "hdrfile": true, "metricspass": true, "metricspasses": true, "gpupass": true, "amdpass": true, "tritonpass": true,
	"sdpass": true, "sdquery": true, "sdbasic": true, "sdheader": true, "sdfile": true, "discovered": true, "template": true,
	// What is only sent later, or not to the parrot, or not at all.
	"filenew": false, "reloaded": false, "modkey": false, "modheader": false, "modparam": false, "modfile": false, "templatefile": false,
	"tls": false, "tlsfile": false, "oauthtls": false, "oauthtlsfile": false, "oauthkey": false, "oauthkeyfile": false, "sdtls": false, "otlptlsfile": false,
	"otlp": false, "otlpfile": false, "otlpenv": false, "otlpkey": false, "webpass": false, "extra": false, "unused": false,
	"broken": false, "torn": false, "misplaced": false,
}

// leaky takes a secret at every place where a configuration takes one, but for those of OTLP. PEER is the parrot.
const leaky = `
global: {max_rate: 1000, max_in_flight: 1000}
secrets:
  file: {file: file.key}
  value: {value: "${LEAKY_VALUE}"}
  unused: {value: %[unused]s}
http_clients:
  basic: {basic_auth: {username: joe, password: %[basicpass]s}}
  basicfile: {basic_auth: {username: joe, password_file: basicfile.key}}
  bearer: {authorization: {credentials: %[bearer]s}}
  bearerfile: {authorization: {credentials_file: bearerfile.key}}
  oauth: {oauth2: {client_id: joe, client_secret: %[oauth]s, token_url: "http://PEER/token?key=%[oauthquery]q"}}
  proxy: {proxy_url: "http://joe:%[proxypass]u@PEER"}
  oauthfile:
    oauth2:
      client_id: joe
      client_secret_file: oauthfile.key
      token_url: "http://far.invalid/token"
      proxy_url: "http://joe:%[oauthproxy]u@PEER"
      endpoint_params: {api_key: %[oauthparam]s}
      tls_config: {cert: %[oauthtls]c, key: %[oauthtls]p}
  oauthconnect: {oauth2: {client_id: joe, client_secret: none, token_url: "https://far.invalid/token", proxy_url: "http://PEER", proxy_connect_header: {X-Proxy-Key: [%[oauthconnect]s]}}}
  oauthtlsfile: {oauth2: {client_id: joe, client_secret: none, token_url: "http://PEER/token", tls_config: {cert_file: tls.crt, key_file: oauthtlsfile.key}}}
  oauthkey:
    oauth2: {client_id: joe, grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", client_certificate_key_id: x, client_certificate_key: %[oauthkey]p, token_url: "http://PEER/token"}
  oauthkeyfile:
    oauth2: {client_id: joe, grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", client_certificate_key_id: x, client_certificate_key_file: oauthkeyfile.key, token_url: "http://PEER/token"}
  bearertoken: {bearer_token: %[bearertoken]s}
  bearertokenfile: {bearer_token_file: bearertokenfile.key}
  tls: {tls_config: {cert: %[tls]c, key: %[tls]p}}
  tlsfile: {tls_config: {cert_file: tls.crt, key_file: tlsfile.key}}
  connect: {proxy_url: "http://PEER", proxy_connect_header: {X-Proxy-Key: [%[connect]s]}}
  headers:
    http_headers:
      X-Api-Token: {values: [%[hdrvalue]s]}
      X-Other: {secrets: [%[hdrsecret]s]}
      X-More: {files: [hdrfile.key]}
workloads: {short: {input_tokens: 16, output_tokens: 4}}
loads:
  quick: {mode: constant, rate: 2, max_in_flight: 20, backoff: {mode: "off"}}
  slow: {mode: constant, rate: 4, max_in_flight: 20, backoff: {mode: "off"}}
slos: {hard: {time_to_first_token: 1ms}}
defaults: {url: "http://PEER", model: m, endpoint: {type: chat, headers: {X-Auth-Key: %[defheader]s}}, workload: short, load: quick, slo: [hard], timeouts: {first_token: 3s, idle: 3s, total: 5s}}
targets:
  - {name: file, endpoint: {secret: file}}
  - {name: value, endpoint: {secret: value}}
  - {name: apikey, endpoint: {api_key: %[apikey]s}}
  - {name: apifile, endpoint: {api_key_file: apifile.key}}
  - {name: url, url: "http://joe:%[urlpass]u@PEER/v1?key=%[urlquery]q"}
  - {name: endpoint, endpoint: {headers: {X-Api-Key: %[epheader]s}, url_params: {token: %[epparam]s}, extra: {api_key: %[extra]s}}}
  - {name: basic, client: basic}
  - {name: basicfile, client: basicfile}
  - {name: bearer, client: bearer}
  - {name: bearerfile, client: bearerfile}
  - {name: oauth, client: oauth}
  - {name: proxied, client: proxy, url: "http://far.invalid"}
  - {name: oauthfile, client: oauthfile}
  - {name: oauthtlsfile, client: oauthtlsfile}
  - {name: oauthconnect, client: oauthconnect}
  - {name: oauthkey, client: oauthkey}
  - {name: oauthkeyfile, client: oauthkeyfile}
  - {name: bearertoken, client: bearertoken}
  - {name: bearertokenfile, client: bearertokenfile}
  - {name: tls, client: tls}
  - {name: tlsfile, client: tlsfile}
  - {name: connect, client: connect, url: "https://far.invalid"}
  - {name: headers, client: headers}
  - {name: collected, load: slow, server: {kind: vllm, metrics_url: "http://joe:%[metricspass]u@PEER/metrics"}}
  - {name: unread, load: slow, server: {kind: vllm, metrics_urls: ["http://joe:%[metricspasses]u@PEER/broken"]}}
target_discovery:
  - name: set
    http_sd_configs:
      - url: "http://joe:%[sdpass]u@PEER/sd?token=%[sdquery]q"
        refresh_interval: 1s
      - {url: "http://PEER/sd", refresh_interval: 1s, basic_auth: {username: joe, password: %[sdbasic]s}, http_headers: {X-Api-Token: {values: [%[sdheader]s]}}, tls_config: {cert: %[sdtls]c, key: %[sdtls]p}}
      - {url: "http://joe:%[sdpass]u@PEER/badsd", refresh_interval: 1s}
    relabel_configs: [{source_labels: [__meta_url], target_label: from}]
    template: {load: slow, workload: short, endpoint: {api_key: %[template]s}}
  - name: files
    http_sd_configs: [{url: "http://PEER/sd", refresh_interval: 1s, authorization: {credentials_file: sdfile.key}}]
    template: {load: slow, workload: short, endpoint: {api_key_file: templatefile.key}}
modules:
  probed: {model: m, endpoint: {type: chat, api_key: %[modkey]s, headers: {X-Api-Key: %[modheader]s}, url_params: {token: %[modparam]s}}, workload: short, allowed_targets: [127.0.0.1]}
  filed: {model: m, endpoint: {type: chat, api_key_file: modfile.key}, workload: short, allowed_targets: [127.0.0.1]}
metrics: {extra_labels: [from]}
collectors:
  server: {interval: 1s, passthrough: {allow: [".*"]}}
  gpu: {source: [dcgm, amd, triton], dcgm: {interval: 1s, urls: ["http://joe:%[gpupass]u@PEER/gpu"]}, amd: {interval: 1s, urls: ["http://joe:%[amdpass]u@PEER/gpu"]}, triton: {interval: 1s, urls: ["http://joe:%[tritonpass]u@PEER/gpu"]}}
debug: {keep_bodies: true, capture: {enabled: true, slower_than: 1ms, max_streams: 100, max_size: 64MiB}}
`

// leakyOTLP is what leaky leaves out, RECEIVER the collector; leakyTLS what cannot be beside it.
const (
	leakyOTLP = "otlp: {enabled: true, insecure: true, endpoint: RECEIVER, interval: 1s, headers: {x-tenant: %[otlp]s}, headers_file: otlp.txt, traces: {enabled: true, ratio: 1}}\n"
	leakyTLS  = "otlp: {enabled: true, endpoint: \"https://far.invalid\", tls_config: {cert_file: tls.crt, key_file: otlptlsfile.key}}\n"
)

// keyPair is an RSA key and a certificate for it, in DER.
var keyPair = sync.OnceValues(func() (key, certificate []byte) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	key, err = x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		panic(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	certificate, err = x509.CreateCertificate(rand.Reader, of, of, private.Public(), private)
	if err != nil {
		panic(err)
	}
	return key, certificate
})

// key is a private key with a secret in its PEM.
func key(name string) string {
	der, _ := keyPair()
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Headers: map[string]string{"Planted": plant(name)}, Bytes: der}))
}

func certificate() string {
	_, der := keyPair()
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

var placeholder = regexp.MustCompile(`%\[(\w+)\]([suqpc])`)

// fill writes the secrets into a configuration: as YAML, as a user's part of a URL, as the value in a query, as a private key, and its certificate.
func fill(config string, p *parrot) string {
	config = placeholder.ReplaceAllStringFunc(config, func(at string) string {
		m := placeholder.FindStringSubmatch(at)
		value := plant(m[1])
		switch m[2] {
		case "u":
			return strings.TrimPrefix(url.UserPassword("", value).String(), ":")
		case "q":
			return url.QueryEscape(value)
		case "p":
			value = key(m[1])
		case "c":
			value = certificate()
		}
		quoted, _ := json.Marshal(value) // a string cannot fail
		return string(quoted)
	})
	return strings.ReplaceAll(config, "PEER", strings.TrimPrefix(p.url, "http://"))
}

// keyFiles are the files that leaky names, by the secret in each, and whether that is a private key.
var keyFiles = map[string]bool{
	"file": false, "basicfile": false, "bearerfile": false, "bearertokenfile": false, "apifile": false, "hdrfile": false, "oauthfile": false, "sdfile": false,
	"templatefile": false, "modfile": false, "tlsfile": true, "oauthtlsfile": true, "oauthkeyfile": true, "otlptlsfile": true,
}

// leakyTargets are the names of the targets of leaky, and the one that is discovered.
func leakyTargets(t *testing.T) []string {
	t.Helper()
	names := []string{"found"}
	for _, m := range regexp.MustCompile(`(?m)^  - \{name: (\w+)`).FindAllStringSubmatch(leaky, -1) {
		names = append(names, m[1])
	}
	if len(names) < 20 {
		t.Fatalf("only %d targets", len(names))
	}
	return names
}
