package ovsdb

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"
)

// session is one connection. Three goroutines serve it: the reader, which is
// the caller of serve, a writer, and a prober. None waits for another: a server
// that does not read must not keep us from reading, or both wait for ever.
type session struct {
	c      *Client
	conn   net.Conn
	began  time.Time
	heard  atomic.Int64 // when bytes last came in, time.Duration since began
	slow   atomic.Bool  // a reply is awaited that may take the server long
	work   atomic.Int64 // bytes of the transactions that have no answer yet
	up     atomic.Bool  // the contents are known
	failed atomic.Pointer[error]

	mu      sync.Mutex
	wake    chan struct{}
	queue   []outgoing
	replies map[int]reply // that are awaited, by request
	nextID  int
	closed  bool

	asked string // lock asked for on this connection; under c.mu

	// What follows belongs to the reader.
	dec       *jsontext.Decoder
	cut       bool // reading has ended, perhaps within a message
	server    *serverState
	monitorID string
	monitors  int
	unread    []*Table // those to be read last, of which not all is known
	filled    func()   // ends Decoder.fill, until then
	again     error    // why all is to be read again, if so
}

// reply is what becomes of the answer to a request; the reader calls both.
type reply struct {
	// read reads the result while it comes in, for results that are too large to
	// have in one piece. Its error ends the session. nil has done get the result.
	read func(*parser) error
	done func(result []byte, err error)
}

// outgoing is a message for the writer, in parts.
type outgoing struct {
	id    int // of a request, 0 for a reply
	parts net.Buffers
}

// connect makes one connection and serves it until it ends. up reports whether
// it got as far as a current state.
func (c *Client) connect(ctx context.Context, remote string) (up bool, err error) {
	conn, err := c.dial(ctx, remote)
	if err != nil {
		c.disconnected(remote, err)
		return false, err
	}
	s := &session{c: c, conn: conn, began: time.Now(), wake: make(chan struct{}, 1), replies: map[int]reply{}}
	s.dec = jsontext.NewDecoder(bufio.NewReaderSize(sessionReader{s}, 64<<10), lenient...)

	sctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { <-sctx.Done(); conn.Close() })
	wg.Go(func() { s.write(sctx) })
	wg.Go(func() { s.probe(sctx) })
	err = s.serve(remote, &up)
	if f := s.failed.Load(); f != nil {
		err = *f
	}
	cancel()
	wg.Wait()
	// In this order: whoever sees a call fail sees the reason in Status.
	c.disconnected(remote, err)
	s.abandon()
	return up, err
}

// dialTimeout bounds the wait for a connection.
const dialTimeout = 10 * time.Second

func (c *Client) dial(ctx context.Context, remote string) (net.Conn, error) {
	network, addr, err := splitRemote(remote)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: dialTimeout}
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil || !strings.HasPrefix(remote, "ssl:") {
		return conn, err
	}
	cfg, err := c.o.TLS()
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("TLS: %w", err)
	}
	if host, _, err := net.SplitHostPort(addr); err == nil && cfg.ServerName == "" && net.ParseIP(host) == nil {
		cfg.ServerName = host
	}
	return tls.Client(conn, cfg), nil
}

// lenient spares the checks that a server's own output does not need: objects
// with hundreds of thousands of members would be searched for duplicates.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// jsonDecoder reads JSON from memory.
func jsonDecoder(b []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewReader(b), lenient...)
}

// sessionReader notes when something is read, and when there is no more.
type sessionReader struct{ s *session }

func (r sessionReader) Read(b []byte) (int, error) {
	n, err := r.s.conn.Read(b)
	if n > 0 {
		// The clock of the day may jump, that since a time of this process does not.
		r.s.heard.Store(int64(time.Since(r.s.began)))
	}
	if err != nil {
		r.s.cut = true
	}
	return n, err
}

// fail ends the session with err.
func (s *session) fail(err error) {
	s.failed.CompareAndSwap(nil, &err)
	s.conn.Close()
}

// abandon fails the calls that have no answer.
func (s *session) abandon() {
	s.mu.Lock()
	s.closed = true
	replies, queue := s.replies, s.queue
	s.replies, s.queue = nil, nil
	s.mu.Unlock()
	for _, m := range queue {
		if r, ok := replies[m.id]; ok {
			delete(replies, m.id)
			r.done(nil, ErrNotSent)
		}
	}
	for _, r := range replies {
		r.done(nil, ErrUnknown)
	}
}

// request queues a request, the parameters in parts that are not copied.
func (s *session) request(method string, r reply, params ...[]byte) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		r.done(nil, ErrNotSent)
		return
	}
	s.nextID++
	id := s.nextID
	s.replies[id] = r
	head := strconv.AppendInt([]byte(`{"id":`), int64(id), 10)
	head = appendString(append(head, `,"method":`...), method)
	parts := append(net.Buffers{append(head, `,"params":`...)}, params...)
	s.queue = append(s.queue, outgoing{id, append(parts, []byte{'}'})})
	s.mu.Unlock()
	s.wakeWriter()
}

func (s *session) answer(msg []byte) {
	s.mu.Lock()
	s.queue = append(s.queue, outgoing{0, net.Buffers{msg}})
	s.mu.Unlock()
	s.wakeWriter()
}

func (s *session) wakeWriter() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *session) write(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		for {
			s.mu.Lock()
			if len(s.queue) == 0 {
				s.queue = nil
				s.mu.Unlock()
				break
			}
			m := s.queue[0]
			s.queue[0] = outgoing{}
			s.queue = s.queue[1:]
			s.mu.Unlock()
			if _, err := m.parts.WriteTo(s.conn); err != nil {
				s.fail(err)
				return
			}
		}
	}
}

// slowLimit is how long a server may be silent while it prepares the contents of
// a large database: it answers nothing else then.
const slowLimit = time.Minute

// handshakeLimit is how long a server may be silent before the contents are
// known where no probe is wanted: otherwise the next remote would never be
// tried.
const handshakeLimit = 30 * time.Second

// workRate is how much of a transaction a busy server executes at least, in bytes
// a second: it answers nothing else meanwhile.
const workRate = 128 << 10

// probe asks a silent server whether it lives, and gives up on one that does not
// answer.
func (s *session) probe(ctx context.Context) {
	asked := int64(-1) // heard when the server was asked last
	for {
		every := s.c.probeInterval()
		if every == 0 && !s.up.Load() {
			every = handshakeLimit / 2
		}
		wait := every / 4
		if every == 0 || wait > time.Second {
			wait = time.Second // SetProbe may change it
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if every == 0 {
			continue
		}
		heard, slow := s.heard.Load(), s.slow.Load()
		idle := time.Since(s.began) - time.Duration(heard)
		limit := 2*every + time.Duration(s.work.Load())*time.Second/workRate
		if slow {
			limit = max(limit, slowLimit)
		}
		switch {
		case idle > limit:
			s.fail(fmt.Errorf("no answer for %v", idle.Round(time.Millisecond)))
			return
		case idle > every && asked != heard && !slow:
			asked = heard
			s.request("echo", reply{done: func([]byte, error) {}}, []byte("[]"))
		}
	}
}

// errReload ends the monitor of the database, but not the session.
var errReload = errors.New("what is known of the database is of no use")

// serve takes the connection through its steps and then reads until it ends.
func (s *session) serve(remote string, up *bool) error {
	// Older servers know neither of these two; whether the connection still is,
	// the next request tells.
	_, _ = s.call("set_db_change_aware", params(true), nil)
	if err := s.watchServer(); err != nil && !errors.Is(err, errReload) {
		return err
	}
	defer s.endReading()
	for {
		err := s.load()
		if err == nil {
			s.up.Store(true)
			s.c.connected(s, remote)
			*up = true
			for err == nil {
				if err = s.readMessage(); err == nil {
					err = s.again
				}
			}
		}
		if !errors.Is(err, errReload) {
			return err
		}
		s.endReading()
		s.again = nil
		s.c.o.Log.Info("reading the database again", zap.String("remote", remote), zap.Error(err))
		s.c.interrupted(err)
	}
}

// call makes a request and reads until its answer has come. With read, the
// result is not returned, but read by it.
func (s *session) call(method string, params []byte, read func(*parser) error) ([]byte, error) {
	var result []byte
	var rerr error
	answered := false
	done := func(r []byte, err error) { result, rerr, answered = r, err, true }
	s.request(method, reply{read, done}, params)
	for !answered {
		if err := s.readMessage(); err != nil {
			return nil, err
		}
	}
	return result, rerr
}

// rpcError is an error in an answer; it is any JSON value.
type rpcError struct {
	value []byte
}

func (e *rpcError) parts() (kind, details string) {
	var o struct{ Error, Details string }
	if json.Unmarshal(e.value, &o) == nil && o.Error != "" {
		return o.Error, o.Details
	}
	return strings.Trim(string(e.value), `"`), ""
}

func (e *rpcError) Error() string {
	kind, details := e.parts()
	return strings.TrimSuffix(kind+": "+details, ": ")
}

// message is what readMessage has read of a message.
type message struct {
	id, params, result, err []byte
	method                  string
	streamed                bool // params, by readUpdate
	resultOf                int  // the request whose reply has read the result
	ofServer                bool // an update of the server's own database
}

// readMessage reads one message and acts on it. An error other than errReload
// ends the session.
func (s *session) readMessage() error {
	p := s.parser(s.dec)
	var m message
	if err := p.members(func(name []byte) error { return s.readMember(p, &m, string(name)) }); err != nil {
		return err
	}
	if m.method != "" {
		return s.notified(&m)
	}
	return s.answered(&m)
}

func (s *session) parser(dec *jsontext.Decoder) *parser { return &parser{dec: dec, in: s.c.dec.in} }

func (s *session) readMember(p *parser, m *message, name string) error {
	switch {
	case name == "params" && isUpdate(m.method):
		// The usual case, read without a copy.
		m.streamed = true
		return s.readUpdate(p, m)
	case name == "result" && p.dec.PeekKind() != 'n':
		if id, r := s.awaited(m); r.read != nil {
			m.resultOf = id
			return r.read(p)
		}
	}
	v, err := p.dec.ReadValue()
	if err != nil {
		return err
	}
	switch name {
	case "id":
		m.id = bytes.Clone(v)
	case "method":
		return json.Unmarshal(v, &m.method)
	case "params":
		m.params = bytes.Clone(v)
	case "result":
		m.result = bytes.Clone(v)
	case "error":
		if v.Kind() != 'n' {
			m.err = bytes.Clone(v)
		}
	}
	return nil
}

// awaited returns the request that m answers, and what is to become of that; done
// is nil if it is none of ours.
func (s *session) awaited(m *message) (id int, r reply) {
	id, err := strconv.Atoi(string(m.id))
	if err != nil {
		return 0, reply{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return id, s.replies[id]
}

// answered hands an answer to who waits for it.
func (s *session) answered(m *message) error {
	id, r := s.awaited(m)
	if r.done == nil {
		return nil
	}
	if m.err == nil && m.result != nil && m.resultOf != id && r.read != nil {
		// "id" came behind "result".
		m.resultOf = id
		if err := r.read(s.parser(jsonDecoder(m.result))); err != nil {
			return err
		}
	}
	s.mu.Lock()
	delete(s.replies, id)
	s.mu.Unlock()
	switch {
	case m.err != nil:
		r.done(nil, &rpcError{value: m.err})
	case m.result == nil && m.resultOf != id:
		r.done(nil, errors.New("an answer with neither a result nor an error"))
	default:
		r.done(m.result, nil)
	}
	return nil
}

// notified acts on a request or notification of the server. Unknown ones are
// ignored, as RFC 7047 leaves room for more.
func (s *session) notified(m *message) error {
	switch m.method {
	case "echo":
		if m.params == nil {
			m.params = []byte("[]")
		}
		s.answer(fmt.Appendf(nil, `{"error":null,"id":%s,"result":%s}`, m.id, m.params))
	case "locked", "stolen":
		var p []string
		if json.Unmarshal(m.params, &p) == nil && len(p) > 0 {
			s.c.lockNotified(p[0], m.method == "locked")
		}
	case "update", "update2", "update3":
		if !m.streamed { // "method" came behind "params"
			if err := s.readUpdate(s.parser(jsonDecoder(m.params)), m); err != nil {
				return err
			}
		}
		if m.ofServer {
			return s.server.check(s)
		}
	case "monitor_canceled":
		var p []string
		if json.Unmarshal(m.params, &p) == nil && len(p) > 0 && p[0] == s.monitorID {
			return fmt.Errorf("%w: the server has cancelled the monitor", errReload)
		}
	}
	return nil
}
