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
	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
	"go.uber.org/zap"
)

// session is one connection. Three goroutines serve it: the reader, which is
// the caller of serve, a writer, and a prober. None waits for another: a server
// that does not read must not keep us from reading, or both wait for ever.
type session struct {
	c      *Client
	conn   net.Conn
	heard  atomic.Int64 // when bytes last came in, Unix nanoseconds
	slow   atomic.Bool  // a reply is awaited that may take the server long
	failed atomic.Pointer[error]

	mu      sync.Mutex
	wake    chan struct{}
	queue   []outgoing
	replies map[int]func(result []byte, err error)
	nextID  int
	closed  bool

	dec    *jsontext.Decoder
	server *leaderState
	// onResult reads the result of the monitor request from the stream.
	onResult func() error
}

// outgoing is a message for the writer.
type outgoing struct {
	id  int // of a request, 0 for a reply
	msg []byte
}

// connect makes one connection and serves it until it ends. up reports whether
// it got as far as a current state.
func (c *Client) connect(ctx context.Context, remote string) (up bool, err error) {
	network, addr, err := splitRemote(remote)
	if err != nil {
		return false, err
	}
	d := net.Dialer{Timeout: 10 * time.Second}
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return false, err
	}
	if strings.HasPrefix(remote, "ssl:") {
		cfg, err := c.o.TLS()
		if err != nil {
			conn.Close()
			return false, fmt.Errorf("TLS: %w", err)
		}
		conn = tls.Client(conn, cfg)
	}
	s := &session{c: c, conn: conn, wake: make(chan struct{}, 1), replies: map[int]func([]byte, error){}}
	s.heard.Store(time.Now().UnixNano())
	s.dec = jsontext.NewDecoder(bufio.NewReaderSize(heardReader{s}, 64<<10), lenient...)

	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { <-ctx.Done(); conn.Close() })
	wg.Go(func() { s.write(ctx) })
	wg.Go(func() { s.probe(ctx) })
	err = s.serve(remote, &up)
	if f := s.failed.Load(); f != nil {
		err = *f
	}
	cancel()
	wg.Wait()
	s.abandon()
	return up, err
}

// lenient spares the checks that a server's own output does not need: objects
// with hundreds of thousands of members would be searched for duplicates.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

func newDecoder(b []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewReader(b), lenient...)
}

// heardReader notes when something is read.
type heardReader struct{ s *session }

func (r heardReader) Read(b []byte) (int, error) {
	n, err := r.s.conn.Read(b)
	if n > 0 {
		r.s.heard.Store(time.Now().UnixNano())
	}
	return n, err
}

// fail ends the session with err.
func (s *session) fail(err error) {
	s.failed.CompareAndSwap(nil, &err)
	s.conn.Close()
}

// abandon fails the calls that have no answer yet.
func (s *session) abandon() {
	s.mu.Lock()
	s.closed = true
	replies, queue := s.replies, s.queue
	s.replies, s.queue = nil, nil
	s.mu.Unlock()
	for _, m := range queue {
		if f := replies[m.id]; f != nil {
			delete(replies, m.id)
			f(nil, ErrNotSent)
		}
	}
	for _, f := range replies {
		f(nil, ErrUnknown)
	}
}

// request queues a request; f is called with its result by the reader.
func (s *session) request(method string, params []byte, f func(result []byte, err error)) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		f(nil, ErrNotSent)
		return
	}
	s.nextID++
	id := s.nextID
	s.replies[id] = f
	msg := make([]byte, 0, len(params)+len(method)+40)
	msg = append(msg, `{"id":`...)
	msg = strconv.AppendInt(msg, int64(id), 10)
	msg = append(msg, `,"method":`...)
	msg = appendString(msg, method)
	msg = append(msg, `,"params":`...)
	msg = append(append(msg, params...), '}')
	s.queue = append(s.queue, outgoing{id, msg})
	s.mu.Unlock()
	s.wakeWriter()
}

func (s *session) reply(msg []byte) {
	s.mu.Lock()
	s.queue = append(s.queue, outgoing{0, msg})
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
			s.queue = s.queue[1:]
			s.mu.Unlock()
			if _, err := s.conn.Write(m.msg); err != nil {
				s.fail(err)
				return
			}
		}
	}
}

// probe asks a silent server whether it lives, and gives up on one that does not
// answer.
func (s *session) probe(ctx context.Context) {
	asked := int64(0)
	for {
		s.c.mu.Lock()
		every := s.c.probe
		s.c.mu.Unlock()
		wait := every / 4
		if every == 0 || wait > time.Second {
			wait = time.Second
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if every == 0 {
			continue
		}
		heard := s.heard.Load()
		idle := time.Since(time.Unix(0, heard))
		limit := 2 * every
		if s.slow.Load() {
			// A large database takes the server long to send, in which it answers
			// nothing else.
			limit = max(limit, time.Minute)
		}
		switch {
		case idle > limit:
			s.fail(fmt.Errorf("no answer for %v", idle.Round(time.Millisecond)))
			return
		case idle > every && asked != heard && !s.slow.Load():
			asked = heard
			s.request("echo", []byte("[]"), func([]byte, error) {})
		}
	}
}

// serve takes the connection through its steps and then reads until it ends.
func (s *session) serve(remote string, up *bool) error {
	// Older servers know neither of these two.
	_, _ = s.call("set_db_change_aware", []byte("[true]"))
	if err := s.watchServer(); err != nil {
		return err
	}
	raw, err := s.call("get_schema", appendParams(s.c.o.Database))
	if err != nil {
		return fmt.Errorf("database %s: %w", s.c.o.Database, err)
	}
	var schema libovsdb.DatabaseSchema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return fmt.Errorf("schema of %s: %w", s.c.o.Database, err)
	}
	s.c.noteSchema(&schema)
	if err := s.monitor(&schema); err != nil {
		return err
	}
	c := s.c
	c.mu.Lock()
	c.session = s
	lock := c.lock
	c.status.Connected, c.status.Remote, c.status.Err = true, remote, nil
	c.status.Epoch++
	c.loading = false
	c.noteLocked()
	c.mu.Unlock()
	*up = true
	if lock != "" {
		s.lock(lock, "lock")
	}
	for {
		if err := s.readMessage(); err != nil {
			return err
		}
	}
}

// lock asks for a lock with the given method, "lock" or "steal".
func (s *session) lock(name, method string) {
	s.request(method, appendParams(name), func(result []byte, err error) {
		var r struct{ Locked bool }
		if err == nil {
			err = json.Unmarshal(result, &r)
		}
		if err != nil {
			s.c.o.Log.Warn("lock", zap.String("lock", name), zap.Error(err))
			return
		}
		s.setLocked(name, r.Locked)
	})
}

func (s *session) setLocked(name string, held bool) {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if name == c.lock && c.status.Locked != held {
		c.status.Locked = held
		c.noteLocked()
	}
}

// call makes a request and reads until its answer has come.
func (s *session) call(method string, params []byte) ([]byte, error) {
	var result []byte
	var rerr error
	answered := false
	s.request(method, params, func(r []byte, err error) { result, rerr, answered = r, err, true })
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

func (e *rpcError) Error() string {
	var o struct{ Error, Details string }
	if json.Unmarshal(e.value, &o) == nil && o.Error != "" {
		return strings.TrimSuffix(o.Error+": "+o.Details, ": ")
	}
	return strings.Trim(string(e.value), `"`)
}

// readMessage reads one message and acts on it.
func (s *session) readMessage() error {
	p := &parser{dec: s.dec, in: s.c.dec.in}
	var id, params, result, rpcErr []byte
	var method string
	streamed := false
	err := p.eachMember(func(name string) error {
		if name == "result" && s.onResult != nil && s.dec.PeekKind() == '[' {
			streamed = true
			return s.onResult()
		}
		if name == "params" && method != "" && s.update(method) {
			// The usual case, read without a copy.
			streamed = true
			return s.readUpdate(method)
		}
		v, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		switch name {
		case "id":
			id = append(id, v...)
		case "method":
			return json.Unmarshal(v, &method)
		case "params":
			params = append(params, v...)
		case "result":
			result = append(result, v...)
		case "error":
			if v.Kind() != 'n' {
				rpcErr = append(rpcErr, v...)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if method != "" {
		if streamed {
			return nil
		}
		return s.notified(method, id, params)
	}
	n, err := strconv.Atoi(string(id))
	if err != nil {
		return nil // not an answer to anything of ours
	}
	s.mu.Lock()
	f := s.replies[n]
	delete(s.replies, n)
	s.mu.Unlock()
	if f == nil {
		return nil
	}
	if rpcErr != nil {
		f(nil, &rpcError{value: rpcErr})
	} else {
		f(result, nil)
	}
	return nil
}

// notified acts on a request or notification of the server. Unknown ones are
// ignored, as RFC 7047 leaves room for more.
func (s *session) notified(method string, id, params []byte) error {
	switch method {
	case "echo":
		if params == nil {
			params = []byte("[]")
		}
		msg := append([]byte(`{"error":null,"id":`), id...)
		msg = append(append(append(msg, `,"result":`...), params...), '}')
		s.reply(msg)
	case "locked", "stolen":
		var p []string
		if json.Unmarshal(params, &p) == nil && len(p) > 0 {
			s.setLocked(p[0], method == "locked")
		}
	case "update", "update2", "update3":
		// "method" came behind "params".
		dec := s.dec
		s.dec = newDecoder(params)
		err := s.readUpdate(method)
		s.dec = dec
		return err
	case "monitor_canceled":
		return errors.New("the server has dropped the database")
	}
	return nil
}

// update reports whether params of the method are a monitor's updates.
func (s *session) update(method string) bool {
	return method == "update" || method == "update2" || method == "update3"
}

// Monitor ids: the database's own, and that of the server's state.
const (
	monitorID       = "northwall"
	serverMonitorID = "northwall-server"
)

// readUpdate reads the params of an update notification from the stream:
// [id, updates], or [id, transaction, updates] of update3.
func (s *session) readUpdate(method string) error {
	c := s.c
	p := &parser{dec: s.dec, in: c.dec.in}
	if err := p.expect('['); err != nil {
		return err
	}
	id, err := p.readString()
	if err != nil {
		return err
	}
	txn := ""
	if method == "update3" {
		if txn, err = p.readString(); err != nil {
			return err
		}
	}
	format := UpdateDiff
	if method == "update" {
		format = UpdateOldNew
	}
	if id == serverMonitorID {
		if err := s.server.dec.Read(s.dec, format); err != nil {
			return err
		}
		if err := p.expect(']'); err != nil {
			return err
		}
		return s.server.check(s)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.lastTxn
	c.lastTxn = "" // until the whole has been read
	if err := c.dec.Read(s.dec, format); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	if txn != "" {
		c.lastTxn = txn
	} else {
		c.lastTxn = last
	}
	if c.dec.Pending() {
		select {
		case c.ready <- struct{}{}:
		default:
		}
	}
	return p.expect(']')
}
