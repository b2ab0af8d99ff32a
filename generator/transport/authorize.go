package transport

import (
	"context"
	"crypto/tls"
	"net/http"

	promconfig "github.com/prometheus/common/config"
)

// authorizer completes requests with what `http_clients` says: credentials, further headers, and the TLS settings of the moment, as their
// files may change. It is the same chain as that of a Prometheus client, with nothing at its end.
type authorizer struct {
	chain http.RoundTripper
}

func newAuthorizer(config *promconfig.HTTPClientConfig, dial promconfig.DialContextFunc) (*authorizer, error) {
	settings, err := promconfig.NewTLSConfigWithContext(context.Background(), &config.TLSConfig)
	if err != nil {
		return nil, err
	}
	newChain := func(settings *tls.Config) (http.RoundTripper, error) {
		return credentials(config, dial, ending{settings}), nil
	}
	t := &config.TLSConfig
	if t.CAFile == "" && t.CertFile == "" && t.KeyFile == "" {
		return &authorizer{credentials(config, dial, ending{settings})}, nil
	}
	files := promconfig.TLSRoundTripperSettings{
		CA: secretOf(t.CA, t.CAFile), Cert: secretOf(t.Cert, t.CertFile), Key: secretOf(string(t.Key), t.KeyFile),
	}
	chain, err := promconfig.NewTLSRoundTripperWithContext(context.Background(), settings, files, newChain)
	if err != nil {
		return nil, err
	}
	return &authorizer{chain}, nil
}

// credentials puts before next what adds the credentials and headers of the configuration. Tokens are asked for on connections of dial.
func credentials(config *promconfig.HTTPClientConfig, dial promconfig.DialContextFunc, next http.RoundTripper) http.RoundTripper {
	if a := config.Authorization; a != nil {
		next = promconfig.NewAuthorizationCredentialsRoundTripper(a.Type, secretOf(string(a.Credentials), a.CredentialsFile), next)
	}
	if b := config.BasicAuth; b != nil {
		next = promconfig.NewBasicAuthRoundTripper(secretOf(b.Username, b.UsernameFile), secretOf(string(b.Password), b.PasswordFile), next)
	}
	if o := ownOAuth2(config.OAuth2); o != nil {
		secret := secretOf(string(o.ClientSecret), o.ClientSecretFile)
		if o.GrantType == "urn:ietf:params:oauth:grant-type:jwt-bearer" {
			secret = secretOf(string(o.ClientCertificateKey), o.ClientCertificateKeyFile)
		}
		next = promconfig.NewOAuth2RoundTripper(secret, o, next, promconfig.WithDialContextFunc(dial))
	}
	if h := config.HTTPHeaders; h != nil {
		next = promconfig.NewHeadersRoundTripper(h, next)
	}
	return next
}

// secretOf is a secret that stands in the configuration or in a file; nil = there is none.
func secretOf(text, file string) promconfig.SecretReader {
	switch {
	case text != "":
		return promconfig.NewInlineSecret(text)
	case file != "":
		return promconfig.NewFileSecret(file)
	}
	return nil
}

// authorized is a request as it is to be sent.
type authorized struct {
	request *http.Request
	tls     *tls.Config
}

type authorizedKey struct{}

// complete gives the request with everything added, and the TLS settings to send it with. It may ask for a token elsewhere.
func (a *authorizer) complete(request *http.Request) (authorized, error) {
	var out authorized
	response, err := a.chain.RoundTrip(request.WithContext(context.WithValue(request.Context(), authorizedKey{}, &out)))
	if err != nil {
		return out, err
	}
	return out, response.Body.Close()
}

// ending is the end of the chain.
type ending struct{ settings *tls.Config }

// RoundTrip implements http.RoundTripper: it hands the request back to complete.
func (e ending) RoundTrip(request *http.Request) (*http.Response, error) {
	*request.Context().Value(authorizedKey{}).(*authorized) = authorized{request, e.settings}
	return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Request: request}, nil
}
