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
	"time"
)

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

// closeWait is how long a client may take to read the last answer.
const closeWait = time.Second

// Close removes the socket and ends its connections. A command that is running
// is told to end by its context, and is answered: so "exit" is, which leads here.
func (s *Server) Close() {
	s.cancel()
	s.listener.Close() // removes the file too
	s.mu.Lock()
	for c := range s.conns {
		s.expire(c)
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// expire makes a connection end after what is being answered on it.
func (s *Server) expire(c net.Conn) {
	_ = c.SetReadDeadline(time.Unix(1, 0)) // fails only if it has ended
	_ = c.SetWriteDeadline(time.Now().Add(closeWait))
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

// acceptRetry is the wait after a connection could not be accepted.
const acceptRetry = 100 * time.Millisecond

func (s *Server) accept(ctx context.Context) {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			select { // out of file descriptors, for one
			case <-ctx.Done():
				return
			case <-time.After(acceptRetry):
			}
			continue
		}
		s.mu.Lock()
		s.conns[c] = struct{}{}
		if ctx.Err() != nil { // Close has seen to the others already
			s.expire(c)
		}
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
			out.Result = line(text)
		}
		if enc.Encode(out) != nil {
			return
		}
	}
}

// line ends an answer with a newline, as ovs-appctl prints it as it is.
func line(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
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
