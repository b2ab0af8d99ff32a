package transport

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// framing are the header fields that tell where a request ends and what becomes of the connection. They are this package's.
var framing = map[string]bool{"Host": true, "Content-Length": true, "Transfer-Encoding": true, "Trailer": true, "Connection": true}

// writeRequest appends a request with its body as HTTP/1.1 has it on the wire. keep tells that another may follow.
func writeRequest(to *bytes.Buffer, request *http.Request, body []byte, keep bool) error {
	if scheme := request.URL.Scheme; scheme != "http" && scheme != "https" {
		return fmt.Errorf("request: scheme must be http or https, got %q", scheme)
	}
	for name, values := range request.Header {
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("request: invalid header name %q", name)
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) {
				return fmt.Errorf("request: invalid value of header %q", name) // which may be secret
			}
		}
	}
	host, err := httpguts.PunycodeHostPort(withoutZone(request.URL.Host))
	if err != nil || host == "" || !httpguts.ValidHostHeader(host) {
		return fmt.Errorf("request: invalid host %q", request.URL.Host)
	}
	to.WriteString(request.Method + " " + request.URL.RequestURI() + " HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: ")
	to.WriteString(strconv.Itoa(len(body)))
	to.WriteString("\r\n")
	if !keep {
		to.WriteString("Connection: close\r\n")
	}
	if err := request.Header.WriteSubset(to, framing); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	to.WriteString("\r\n")
	to.Write(body)
	return nil
}

// withoutZone removes the zone of an IPv6 address, which means nothing to another machine.
func withoutZone(host string) string {
	if !strings.HasPrefix(host, "[") {
		return host
	}
	end := strings.LastIndexByte(host, ']')
	zone := strings.IndexByte(host, '%')
	if end < 0 || zone < 0 || zone > end {
		return host
	}
	return host[:zone] + host[end:]
}
