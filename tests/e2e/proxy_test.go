package e2e

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A proxy stands between a daemon and a server, and can cut what the server says
// anywhere.
type proxy struct {
	remote string
	server string

	mu    sync.Mutex
	conns map[net.Conn]*int // bytes that a connection still passes on, nil for all
	wg    sync.WaitGroup
}

func newProxy(t testing.TB, remote string) *proxy {
	t.Helper()
	path := filepath.Join(tempDir(t), "sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{remote: "unix:" + path, server: strings.TrimPrefix(remote, "unix:"), conns: map[net.Conn]*int{}}
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.cut(0)
		p.mu.Lock()
		for c := range p.conns {
			c.Close()
		}
		p.mu.Unlock()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", p.server)
	if err != nil {
		return
	}
	p.mu.Lock()
	p.conns[client] = nil
	p.mu.Unlock()
	p.wg.Go(func() {
		_, _ = io.Copy(server, client)
		server.Close()
	})
	buf := make([]byte, 4<<10)
	for {
		n, err := server.Read(buf)
		pass := n
		p.mu.Lock()
		left := p.conns[client]
		if left != nil {
			pass = min(n, *left)
			*left -= pass
		}
		p.mu.Unlock()
		if _, werr := client.Write(buf[:pass]); err != nil || werr != nil || pass < n {
			break
		}
	}
	server.Close()
	p.mu.Lock()
	delete(p.conns, client)
	p.mu.Unlock()
}

// cut makes all connections end once n more bytes have come from the server.
func (p *proxy) cut(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		left := n
		p.conns[c] = &left
	}
}
