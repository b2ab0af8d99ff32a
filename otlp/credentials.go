package otlp

import (
	"context"
	"errors"
	"fmt"
	"net"

	promconfig "github.com/prometheus/common/config"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// newCredentials are how a connection is secured. An error is that of a certificate that cannot be read.
func newCredentials(c *TLSConfig, plain bool) (credentials.TransportCredentials, error) {
	if plain {
		return insecure.NewCredentials(), nil
	}
	out := &fileCredentials{files: promconfig.TLSConfig{
		CAFile: c.CAFile, CertFile: c.CertFile, KeyFile: c.KeyFile, ServerName: c.ServerName, InsecureSkipVerify: c.InsecureSkipVerify,
	}}
	if _, err := out.read(); err != nil {
		return nil, err
	}
	return out, nil
}

// fileCredentials read the certificates anew for each connection, so that ones that were replaced are seen.
type fileCredentials struct{ files promconfig.TLSConfig }

func (c *fileCredentials) read() (credentials.TransportCredentials, error) {
	settings, err := promconfig.NewTLSConfig(&c.files)
	if err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return credentials.NewTLS(settings), nil
}

// ClientHandshake implements credentials.TransportCredentials.
func (c *fileCredentials) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	now, err := c.read()
	if err != nil {
		return nil, nil, err
	}
	return now.ClientHandshake(ctx, authority, conn)
}

// ServerHandshake implements credentials.TransportCredentials; this side is never the server.
func (c *fileCredentials) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("these are the credentials of a client")
}

// Info implements credentials.TransportCredentials.
func (c *fileCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// Clone implements credentials.TransportCredentials.
func (c *fileCredentials) Clone() credentials.TransportCredentials {
	return &fileCredentials{files: c.files}
}

// OverrideServerName implements credentials.TransportCredentials.
func (c *fileCredentials) OverrideServerName(name string) error {
	c.files.ServerName = name
	return nil
}
