package otlp

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// certificate makes one that signs itself, for the loopback address.
func certificate(t *testing.T) (certPEM, keyPEM []byte, pair tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "collector"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	if pair, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
		t.Fatal(err)
	}
	return certPEM, keyPEM, pair
}

func TestCertificatesAreThoseOfTheMoment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	serverCert, _, serverPair := certificate(t)
	other, clientKey, _ := certificate(t)
	s := &collectorServer{}
	address, _ := serve(t, s, "127.0.0.1:0", grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{serverPair}, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12,
	})))
	c := testConfig(address)
	c.Endpoint = "https://" + address
	c.TLS = TLSConfig{CAFile: write("ca", other), CertFile: write("cert", other), KeyFile: write("key", clientKey)}
	value := 1.
	e := newExporter(t, c, oneCounter(&value))
	e.session.Load().export(t.Context())
	if n := valueOf(t, e, errorsSeries, string(reasonUnavailable)); n != 1 {
		t.Errorf("a collector with another certificate: got %v errors, want 1", n)
	}
	write("ca", serverCert)
	for len(s.received()) == 0 && t.Context().Err() == nil {
		e.session.Load().wire.conn.ResetConnectBackoff()
		e.session.Load().export(t.Context())
	}
}

func TestCertificatesThatCannotBeReadAreErrorsAtTheStart(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]TLSConfig{
		"authority":   {CAFile: "/absent/ca"},
		"certificate": {CertFile: "/absent/cert", KeyFile: "/absent/key"},
	} {
		c := testConfig("127.0.0.1:1")
		c.Endpoint, c.TLS = "https://127.0.0.1:1", files
		if _, err := New(c, Deps{Clock: metrics.NewSystemClock(), Logger: discard()}); err == nil || !strings.Contains(err.Error(), "/absent/") {
			t.Errorf("%s: got %v, want an error that names the file", name, err)
		}
	}
}
