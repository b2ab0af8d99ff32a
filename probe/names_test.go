package probe

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// names is a resolver that answers as the test wants: with the first list of a name's first, then the next, the last one over and over.
type names struct {
	mu    sync.Mutex
	known map[string][][]string // by name without a dot at its end
}

// resolver asks names over a pipe, in the form that DNS has over TCP.
func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go n.serve(there)
		return here, nil
	}}
}

func (n *names) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		answer, err := n.answer(query)
		if err != nil {
			return
		}
		if _, err := conn.Write(binary.BigEndian.AppendUint16(nil, uint16(len(answer)))); err != nil {
			return
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}

func (n *names) answer(query []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil, err
	}
	m.Response, m.Additionals = true, nil
	question := m.Questions[0]
	addresses, known := n.next(strings.TrimSuffix(question.Name.String(), "."), question.Type)
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, text := range addresses {
		address := netip.MustParseAddr(text)
		header := dnsmessage.ResourceHeader{Name: question.Name, Class: question.Class, Type: question.Type}
		switch {
		case question.Type == dnsmessage.TypeA && address.Is4():
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: address.As4()}})
		case question.Type == dnsmessage.TypeAAAA && address.Is6():
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: address.As16()}})
		}
	}
	return m.Pack()
}

// next gives the addresses of a name. A lookup has two questions, of which the one for IPv4 brings it to the next list.
func (n *names) next(name string, kind dnsmessage.Type) ([]string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	lists, known := n.known[name]
	if !known {
		return nil, false
	}
	first := lists[0]
	if kind == dnsmessage.TypeA && len(lists) > 1 {
		n.known[name] = lists[1:]
	}
	return first, true
}

func knowing(known map[string][][]string) func(*rig) {
	n := &names{known: known}
	return func(r *rig) { r.deps.Resolver = n.resolver() }
}
