//go:build kubernetes

package kubernetes

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// startWait is how long etcd and the API server have to become ready.
const startWait = 3 * time.Minute

// cluster is an API server and its store. The user of its kubeconfig may do anything; everybody else what RBAC grants him.
type cluster struct {
	folder  string
	address string // of the API server
	token   string // of the user
	store   string // URL of etcd
	ctx     context.Context
	etcd    *process.Process
	server  *process.Process
	client  dynamic.Interface
}

// newCluster starts a cluster that runs until ctx ends. What has started is in the value also when it fails.
func newCluster(ctx context.Context, folder string) (*cluster, error) {
	c := &cluster{folder: folder, token: rand.Text(), ctx: ctx}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return c, err
	}
	if err := c.writeKeys(); err != nil {
		return c, err
	}
	limit, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	if err := c.startEtcd(limit); err != nil {
		return c, err
	}
	var err error
	if c.address, err = process.FreeAddress(limit); err != nil {
		return c, err
	}
	if err = c.startServer(limit); err != nil {
		return c, err
	}
	if c.client, err = dynamic.NewForConfig(c.config()); err != nil {
		return c, err
	}
	return c, os.WriteFile(c.kubeconfig(), []byte(strings.NewReplacer("SERVER", c.url(), "CA", c.ca(), "TOKEN", c.token).Replace(kubeconfig)), 0o600)
}

const kubeconfig = `
apiVersion: v1
kind: Config
current-context: test
clusters: [{name: test, cluster: {server: "SERVER", certificate-authority: "CA"}}]
users: [{name: admin, user: {token: "TOKEN"}}]
contexts: [{name: test, context: {cluster: test, user: admin}}]
`

func (c *cluster) kubeconfig() string { return filepath.Join(c.folder, "kubeconfig") }

// ca is a file with the authority that signed the server's certificate; the server makes both when it starts for the first time.
func (c *cluster) ca() string { return filepath.Join(c.folder, "certificates", "apiserver.crt") }

func (c *cluster) url() string { return "https://" + c.address }

func (c *cluster) config() *rest.Config {
	return &rest.Config{Host: c.url(), BearerToken: c.token, TLSClientConfig: rest.TLSClientConfig{CAFile: c.ca()}, QPS: 1000, Burst: 1000}
}

// writeKeys makes the key that signs the tokens of service accounts, and the list of users.
func (c *cluster) writeKeys() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	return errors.Join(
		os.WriteFile(c.signingKey(), pem.EncodeToMemory(block), 0o600),
		os.WriteFile(c.users(), []byte(c.token+",admin,admin,system:masters\n"), 0o600),
	)
}

func (c *cluster) signingKey() string { return filepath.Join(c.folder, "signing.key") }

func (c *cluster) users() string { return filepath.Join(c.folder, "users.csv") }

func (c *cluster) startEtcd(limit context.Context) error {
	client, err := process.FreeAddress(limit)
	if err != nil {
		return err
	}
	peer, err := process.FreeAddress(limit)
	if err != nil {
		return err
	}
	c.store, peer = "http://"+client, "http://"+peer
	c.etcd, err = process.Start(c.ctx, nil, etcd, "--name=one", "--data-dir="+filepath.Join(c.folder, "etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls="+c.store, "--advertise-client-urls="+c.store,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=one="+peer)
	if err != nil {
		return err
	}
	return c.etcd.Ready(limit, c.store+"/health")
}

// startServer starts the API server, for the first time or once more, and waits until it answers.
func (c *cluster) startServer(limit context.Context) (err error) {
	_, port, _ := strings.Cut(c.address, ":")
	c.server, err = process.Start(c.ctx, nil, apiServer, "--etcd-servers="+c.store, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		"--secure-port="+port, "--endpoint-reconciler-type=none", "--cert-dir="+filepath.Dir(c.ca()), "--token-auth-file="+c.users(),
		"--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/16", "--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+c.signingKey(), "--service-account-signing-key-file="+c.signingKey(),
		// There is nobody who would make the account "default" of a namespace, without which this plugin lets no pod in.
		"--disable-admission-plugins=ServiceAccount", "--profiling=false")
	if err != nil {
		return err
	}
	if err := process.Until(limit, func() error { return c.ready(limit) }); err != nil {
		return fmt.Errorf("%w\n%s", err, tail(c.server.Output()))
	}
	return nil
}

func (c *cluster) ready(ctx context.Context) error {
	client, err := rest.HTTPClientFor(c.config())
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url()+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", r.URL, resp.Status)
	}
	return nil
}

// end waits for the processes, whose context has ended.
func (c *cluster) end() {
	limit, cancel := context.WithTimeout(context.Background(), startWait)
	defer cancel()
	for _, p := range []*process.Process{c.server, c.etcd} {
		if p != nil {
			_, _ = p.Wait(limit) // whatever way it went, it is gone
		}
	}
}

// tail is the end of what a process wrote.
func tail(output string) string { return output[max(0, len(output)-4000):] }
