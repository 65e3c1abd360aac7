// Package unixctl serves the control socket that ovs-appctl(8) and
// ovn-appctl(8) talk to: JSON-RPC over a Unix socket, a command being a method
// whose parameters and result are strings.
package unixctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sort"
	"strings"
	"sync"
)

// Command is one that can be given through the socket.
type Command struct {
	Name     string
	Usage    string // of the arguments, for list-commands
	Min, Max int    // number of arguments
	// Run answers the command. An error becomes the command's error message.
	Run func(ctx context.Context, args []string) (string, error)
}

// Server listens on a control socket.
type Server struct {
	path     string
	listener net.Listener
	cancel   context.CancelFunc
	wg       sync.WaitGroup

	mu       sync.Mutex
	commands map[string]Command
	conns    map[net.Conn]struct{}
}

// maxPath is what the kernel takes for the name of a Unix socket, with its
// terminating NUL.
const maxPath = 108

// CheckPath reports a name that is too long for a Unix socket.
func CheckPath(path string) error {
	if len(path) >= maxPath {
		return fmt.Errorf("%s: %d characters are too many for the name of a Unix socket, of which there may be %d", path, len(path), maxPath-1)
	}
	return nil
}

// Listen makes the socket. One that a dead process left behind is replaced; one
// that is answered is an error.
func Listen(path string, commands ...Command) (*Server, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		if c, derr := net.Dial("unix", path); derr == nil {
			c.Close()
			return nil, fmt.Errorf("%s: another process is listening there", path)
		}
		if rerr := os.Remove(path); rerr != nil {
			return nil, err
		}
		if l, err = net.Listen("unix", path); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{path: path, listener: l, cancel: cancel, commands: map[string]Command{}, conns: map[net.Conn]struct{}{}}
	s.Add(Command{Name: "list-commands", Run: func(context.Context, []string) (string, error) { return s.list(), nil }})
	s.Add(commands...)
	s.wg.Go(func() { s.accept(ctx) })
	return s, nil
}

// Add adds commands.
func (s *Server) Add(commands ...Command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range commands {
		s.commands[c.Name] = c
	}
}

// Close removes the socket and ends its connections.
func (s *Server) Close() {
	s.cancel()
	s.listener.Close() // removes the file too
	s.mu.Lock()
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

func (s *Server) list() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.commands))
	for n := range s.commands {
		names = append(names, n)
	}
	sort.Strings(names)
	var b strings.Builder
	b.WriteString("The available commands are:\n")
	for _, n := range names {
		fmt.Fprintf(&b, "  %-23s %s\n", n, s.commands[n].Usage)
	}
	return b.String()
}

func (s *Server) accept(ctx context.Context) {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		s.mu.Lock()
		s.conns[c] = struct{}{}
		s.mu.Unlock()
		s.wg.Go(func() {
			s.serve(ctx, c)
			c.Close()
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		})
	}
}

// request is a JSON-RPC request (JSON-RPC 1.0, as RFC 7047 section 4 uses it).
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params []any           `json:"params"`
}

type response struct {
	ID     json.RawMessage `json:"id"`
	Result any             `json:"result"`
	Error  any             `json:"error"`
}

// maxRequest bounds a request: commands are short.
const maxRequest = 1 << 20

func (s *Server) serve(ctx context.Context, c net.Conn) {
	limited := &limitReader{c: c, left: maxRequest}
	dec := json.NewDecoder(limited)
	enc := json.NewEncoder(c)
	for {
		var r request
		limited.left = maxRequest
		if err := dec.Decode(&r); err != nil {
			return // gone, or no JSON-RPC: nothing can be answered
		}
		if r.Method == "" || len(r.ID) == 0 {
			continue
		}
		out := response{ID: r.ID}
		if text, err := s.run(ctx, r); err != nil {
			out.Error = line(err.Error())
		} else {
			out.Result = text
		}
		if enc.Encode(out) != nil {
			return
		}
	}
}

// line ends a message as ovs-appctl expects it.
func line(s string) string {
	if strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

func (s *Server) run(ctx context.Context, r request) (string, error) {
	s.mu.Lock()
	cmd, ok := s.commands[r.Method]
	s.mu.Unlock()
	if !ok {
		return "", fmt.Errorf("\"%s\" is not a valid command (use \"list-commands\" to see a list of valid commands)", r.Method)
	}
	args := make([]string, len(r.Params))
	for i, p := range r.Params {
		a, ok := p.(string)
		if !ok {
			return "", fmt.Errorf("\"%s\" command has non-string argument", r.Method)
		}
		args[i] = a
	}
	switch {
	case len(args) < cmd.Min:
		return "", fmt.Errorf("\"%s\" command requires at least %d arguments", r.Method, cmd.Min)
	case len(args) > cmd.Max:
		return "", fmt.Errorf("\"%s\" command takes at most %d arguments", r.Method, cmd.Max)
	}
	return cmd.Run(ctx, args)
}

type limitReader struct {
	c    net.Conn
	left int
}

func (l *limitReader) Read(b []byte) (int, error) {
	if l.left <= 0 {
		return 0, errors.New("request too long")
	}
	if len(b) > l.left {
		b = b[:l.left]
	}
	n, err := l.c.Read(b)
	l.left -= n
	return n, err
}

// Call gives a command to the server listening on path, as ovs-appctl does.
func Call(ctx context.Context, path, command string, args ...string) (string, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return "", err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	params := make([]any, len(args))
	for i, a := range args {
		params[i] = a
	}
	if err := json.NewEncoder(c).Encode(request{ID: json.RawMessage("0"), Method: command, Params: params}); err != nil {
		return "", err
	}
	var r response
	if err := json.NewDecoder(c).Decode(&r); err != nil {
		return "", err
	}
	if r.Error != nil {
		return "", fmt.Errorf("%v", r.Error)
	}
	text, _ := r.Result.(string)
	return text, nil
}
