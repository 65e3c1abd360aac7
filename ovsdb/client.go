package ovsdb

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
	"go.uber.org/zap"
)

// Options say which database a Client connects to, and what it wants of it.
type Options struct {
	Database string   // "OVN_Southbound"
	Remotes  []string // "unix:PATH", "tcp:HOST:PORT", "ssl:HOST:PORT", tried in turn
	Tables   []*Table
	// Lock is taken on every connection; "" for none.
	Lock string
	// LeaderOnly refuses members of a cluster that do not lead it.
	LeaderOnly bool
	// Probe is the idle time after which the server is asked whether it lives,
	// and after twice of which the connection is given up; 0 for never.
	Probe time.Duration
	// TLS returns the configuration for an ssl: remote. It is asked for each
	// connection, so that certificates replaced meanwhile are used.
	TLS func() (*tls.Config, error)
	// MinBackoff and MaxBackoff bound the wait between attempts to connect, 1 s
	// and 8 s if 0. The first attempt after a loss is made at once.
	MinBackoff, MaxBackoff time.Duration
	Log                    *zap.Logger
}

// Client is a connection to a database that is kept up. It implements Conn.
type Client struct {
	o      Options
	cancel context.CancelFunc
	done   chan struct{}
	ready  chan struct{}

	mu      sync.Mutex
	dec     *Decoder
	loading bool // the reader has dec to itself
	status  Status
	schema  *libovsdb.DatabaseSchema
	missing map[string]bool // tables and columns named in the log already
	changed chan struct{}   // closed and replaced when status changes
	session *session
	lock    string
	probe   time.Duration
	lastTxn string // what dec's rows are the state after, "" if of no one state
}

// Open makes a client, which connects in the background. The error is about
// options.
func Open(o Options) (*Client, error) {
	if len(o.Remotes) == 0 {
		return nil, fmt.Errorf("%s: no address to connect to", o.Database)
	}
	for _, r := range o.Remotes {
		if _, _, err := splitRemote(r); err != nil {
			return nil, err
		}
		if strings.HasPrefix(r, "ssl:") && o.TLS == nil {
			return nil, fmt.Errorf("%s: a private key, certificate and CA certificate are needed for TLS", r)
		}
	}
	if o.MinBackoff == 0 {
		o.MinBackoff = time.Second
	}
	if o.MaxBackoff == 0 {
		o.MaxBackoff = 8 * time.Second
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &Client{
		o: o, cancel: cancel, done: make(chan struct{}), ready: make(chan struct{}, 1),
		dec: NewDecoder(o.Tables...), missing: map[string]bool{}, changed: make(chan struct{}),
		lock: o.Lock, probe: o.Probe,
	}
	go c.run(ctx)
	return c, nil
}

// Close ends the connection and everything that the client has running.
func (c *Client) Close() {
	c.cancel()
	<-c.done
}

// splitRemote splits an address into the network and address that net.Dial
// takes; ssl: is tcp here.
func splitRemote(r string) (network, addr string, err error) {
	kind, addr, ok := strings.Cut(r, ":")
	if !ok || addr == "" {
		return "", "", fmt.Errorf("%q is no address of a database: unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT", r)
	}
	switch kind {
	case "unix":
		return "unix", addr, nil
	case "tcp", "ssl":
		if !strings.Contains(addr, ":") {
			return "", "", fmt.Errorf("%q: the port is missing", r)
		}
		return "tcp", addr, nil
	}
	return "", "", fmt.Errorf("%q: %s: is none of unix:, tcp: and ssl: that a database is reached by", r, kind)
}

// run connects, again and again, until ctx is done.
func (c *Client) run(ctx context.Context) {
	defer close(c.done)
	backoff := time.Duration(0)
	for i := 0; ctx.Err() == nil; i++ {
		remote := c.o.Remotes[i%len(c.o.Remotes)]
		began := time.Now()
		up, err := c.connect(ctx, remote)
		if ctx.Err() != nil {
			err = errors.New("closed")
		}
		c.disconnected(remote, err)
		if ctx.Err() != nil {
			return
		}
		last := (i+1)%len(c.o.Remotes) == 0 // of a round of all remotes
		if up {
			c.o.Log.Warn("connection lost", zap.String("remote", remote), zap.Error(err))
			i-- // it worked: the same one again
			last = true
			if time.Since(began) > c.o.MaxBackoff {
				backoff = 0
			}
		} else {
			c.o.Log.Info("cannot connect", zap.String("remote", remote), zap.Error(err))
		}
		if !last {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(backoff):
		}
		backoff = min(max(2*backoff, c.o.MinBackoff), c.o.MaxBackoff)
	}
}

func (c *Client) disconnected(remote string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = nil
	c.loading = false
	c.status.Connected, c.status.Locked = false, false
	c.status.Remote, c.status.Err = remote, err
	c.noteLocked()
}

// noteLocked tells waiters and the consumer that something is new.
func (c *Client) noteLocked() {
	close(c.changed)
	c.changed = make(chan struct{})
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// Ready implements Conn.
func (c *Client) Ready() <-chan struct{} { return c.ready }

// Take implements Conn.
func (c *Client) Take() *Batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loading {
		return nil
	}
	return c.dec.Take()
}

// Status implements Conn.
func (c *Client) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// Has implements Conn.
func (c *Client) Has(table, column string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.schema == nil {
		return true
	}
	return hasColumn(c.schema, table, column)
}

func hasColumn(s *libovsdb.DatabaseSchema, table, column string) bool {
	t := s.Table(table)
	if t == nil {
		return false
	}
	return column == "" || t.Columns[column] != nil
}

// Schema is that of the server, nil before the first connection.
func (c *Client) Schema() *libovsdb.DatabaseSchema {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.schema
}

// NewTxn returns a transaction that leaves out columns which the server lacks.
func (c *Client) NewTxn() *Txn { return NewTxn().Restrict(c.Has) }

// Send implements Conn. Without a connection the call fails with ErrNotSent.
func (c *Client) Send(t *Txn) *Call {
	call := NewCall()
	params := t.Params(c.o.Database)
	c.mu.Lock()
	s := c.session
	up := c.status.Connected
	c.mu.Unlock()
	if s == nil || !up {
		call.Finish(nil, ErrNotSent)
		return call
	}
	s.request("transact", params, func(result []byte, err error) {
		if err != nil {
			call.Finish(nil, err)
			return
		}
		call.Finish(ParseResults(result))
	})
	return call
}

// Transact sends t and waits for its result.
func (c *Client) Transact(ctx context.Context, t *Txn) ([]Result, error) {
	call := c.Send(t)
	select {
	case <-call.Done():
		return call.Result()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// WaitConnected waits until the contents of the database are known. The error
// says what was tried last, and why it failed.
func (c *Client) WaitConnected(ctx context.Context) error {
	for {
		c.mu.Lock()
		st, changed := c.status, c.changed
		c.mu.Unlock()
		if st.Connected {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if st.Err != nil {
				return fmt.Errorf("%s: cannot connect to %s: %w", c.o.Database, st.Remote, st.Err)
			}
			return fmt.Errorf("%s: cannot connect to %s: %w", c.o.Database, strings.Join(c.o.Remotes, ","), ctx.Err())
		}
	}
}

// SetLock asks for the lock, on this connection and those to come.
func (c *Client) SetLock(name string) { c.setLock(name, "lock") }

// Steal takes the lock from whoever has it.
func (c *Client) Steal() {
	c.mu.Lock()
	name := c.lock
	c.mu.Unlock()
	if name != "" {
		c.setLock(name, "steal")
	}
}

func (c *Client) setLock(name, method string) {
	c.mu.Lock()
	c.lock = name
	s := c.session
	c.mu.Unlock()
	if s != nil {
		s.lock(name, method)
	}
}

// Unlock gives the lock back, and asks for it no more.
func (c *Client) Unlock() {
	c.mu.Lock()
	name, s := c.lock, c.session
	c.lock, c.status.Locked = "", false
	c.mu.Unlock()
	if name != "" && s != nil {
		s.request("unlock", appendParams(name), func([]byte, error) {})
	}
}

// SetProbe changes the inactivity probe, see Options.Probe.
func (c *Client) SetProbe(d time.Duration) {
	c.mu.Lock()
	c.probe = d
	c.mu.Unlock()
}

// Reconnect gives up the connection and makes a new one.
func (c *Client) Reconnect() {
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	if s != nil {
		s.fail(errors.New("reconnecting on request"))
	}
}

func appendParams(s string) []byte { return append(appendString([]byte{'['}, s), ']') }
