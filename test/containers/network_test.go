//go:build containers

package containers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// visitor asks from inside a network namespace.
func visitor(namespace string) *http.Client {
	way := &http.Transport{DisableKeepAlives: true}
	way.DialContext = func(ctx context.Context, network, address string) (c net.Conn, err error) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
			var there *os.File
			if there, err = os.Open(namespace); err != nil {
				return
			}
			defer there.Close()
			if err = unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
				err = fmt.Errorf("enter %s: %w", namespace, err)
				return
			}
			c, err = (&net.Dialer{}).DialContext(ctx, network, address)
		}()
		<-done
		return c, err
	}
	return &http.Client{Transport: way}
}

// ask gives the body of a good answer.
func ask(t *testing.T, client *http.Client, url string) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d: %.200s", url, resp.StatusCode, body)
	}
	return string(body), err
}

// askJSON is ask for what is JSON.
func askJSON(t *testing.T, client *http.Client, url string, into any) error {
	t.Helper()
	body, err := ask(t, client, url)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(body), into)
}
