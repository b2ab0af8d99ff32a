package main

// fallbacks stand in the place of a default where the value of the struct does not tell it.
var fallbacks = map[string]string{
	"targets.name":          "required",
	"targets.url":           "required",
	"targets.model":         "required",
	"targets.endpoint.type": "required",
	"targets.seed":          "random",
	"target_discovery.name": "required",
	"modules.model":         "required",
	"modules.endpoint.type": "required",
	"collectors.gpu.source": "`auto`",
	"length.mean":           "that of the block",
	"length.stddev":         "`0`",
	"loads.warmup_requests": "`0`",

	"http_clients.fresh_every": "`10`",
}

// refused are keys that a struct of Prometheus has and a file may not.
var refused = map[string]bool{
	"http_clients.follow_redirects": true,
	"http_clients.enable_http2":     true,
}

// described are the keys that the comment of a field cannot describe: those of Prometheus' own types.
var described = map[string]string{
	"http_clients.basic_auth":                    "`username` or `username_file`, and `password` or `password_file`",
	"http_clients.authorization":                 "`type` (default `Bearer`), and `credentials` or `credentials_file`",
	"http_clients.oauth2":                        "OAuth 2.0 client: `client_id`, `client_secret` or `client_secret_file`, `token_url`, `scopes`, `endpoint_params`, `tls_config`, proxies, and the keys of `grant_type`",
	"http_clients.bearer_token":                  "old form of `authorization.credentials`",
	"http_clients.bearer_token_file":             "old form of `authorization.credentials_file`",
	"http_clients.tls_config":                    "`ca_file` or `ca`, `cert_file` or `cert`, `key_file` or `key`, `server_name`, `min_version` and `max_version` (`TLS10` to `TLS13`), `insecure_skip_verify`",
	"http_clients.proxy_url":                     "HTTP proxy for all requests",
	"http_clients.no_proxy":                      "hosts, domains and networks that are reached without the proxy, separated by commas",
	"http_clients.proxy_from_environment":        "take the proxy from `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`; excludes the two above",
	"http_clients.proxy_connect_header":          "headers for the proxy's CONNECT: name → list of values",
	"target_discovery.file_sd_configs":           "`files`, names that end in `.json`, `.yml` or `.yaml` and may have a `*`, and `refresh_interval` (`5m`)",
	"target_discovery.http_sd_configs":           "`url`, `refresh_interval` (`1m`), and the keys of `http_clients` from `basic_auth` on, beside `follow_redirects` and `enable_http2`",
	"target_discovery.dns_sd_configs":            "`names`, `type` (`SRV`, `A`, `AAAA`, `MX`, `NS`), `port`, which all types but `SRV` need, and `refresh_interval` (`30s`)",
	"target_discovery.kubernetes_sd_configs":     "`role`, `namespaces`, `selectors`, `attach_metadata`, `api_server` or `kubeconfig_file`, and the keys of an HTTP client. Only in builds with Kubernetes",
	"target_discovery.inference_pool_sd_configs": "`namespaces`, `api_server` or `kubeconfig_file`, and the keys of an HTTP client. Only in builds with Kubernetes",
	"target_discovery.relabel_configs":           "steps that change the labels of what was found, or drop it, as in Prometheus",
	"http_clients.http_headers":                  "headers of each request: name → `values`, `secrets` or `files`. Authorization, Host, User-Agent and others that belong to the protocol are refused",
}
