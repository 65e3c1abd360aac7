package ovsdb

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	// and after twice of which the connection is given up; 0 for never, once the
	// contents are known.
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

	dec *Decoder

	mu       sync.Mutex
	status   Status
	schema   *libovsdb.DatabaseSchema
	unfit    map[tableColumn]bool // columns that the server has as another type
	changed  chan struct{}        // closed and replaced when status changes
	session  *session             // nil before the contents are known
	probe    time.Duration
	lock     string // that is wanted, "" for none
	asked    int    // requests for a lock, of which
	answered int    // this is the last that has an answer

	forgetIndex atomic.Bool // newest does not count any longer

	// What follows belongs to the reader.
	named      map[tableColumn]bool // named in the log already
	schemaJSON []byte
	lastTxn    string // the transaction that dec's rows are the state after, if known
	inOnePiece bool   // the server does not let tables be read last
	newest     clusterIndex
}

// tableColumn names a column, or a table if column is empty.
type tableColumn struct{ table, column string }

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
			return nil, fmt.Errorf("%s: %w", r, TLSFiles{}.Check())
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
		dec: NewDecoder(o.Tables...), named: map[tableColumn]bool{}, changed: make(chan struct{}),
		lock: o.Lock, probe: o.Probe,
	}
	c.status.Partial = slices.ContainsFunc(o.Tables, func(t *Table) bool { return t.last })
	go c.run(ctx)
	return c, nil
}

// Close ends the connection and everything that the client has running. Calls
// that are not done fail.
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
	defer c.closed()
	backoff := time.Duration(0)
	for i := 0; ctx.Err() == nil; i++ {
		remote := c.o.Remotes[i%len(c.o.Remotes)]
		began := time.Now()
		up, err := c.connect(ctx, remote)
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

// errClosed is Status.Err of a client after Close.
var errClosed = errors.New("closed")

// disconnected records that there is no connection, and why.
func (c *Client) disconnected(remote string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = nil
	c.status.Connected, c.status.Held, c.status.Locked = false, false, false
	c.status.Remote, c.status.Err = remote, err
	c.noteLocked()
}

// closed records that there will be no connection any more.
func (c *Client) closed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Err = errClosed
	c.noteLocked()
}

// connected records that s has read the contents, but for tables that it holds back.
func (c *Client) connected(s *session, remote string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := s.unread != nil
	c.status.Connected, c.status.Partial, c.status.Held, c.status.Remote, c.status.Err = true, held, held, remote, nil
	if c.session != s {
		c.session = s
		c.status.Epoch++
		if c.lock != "" {
			c.askLocked("lock")
		}
	}
	c.noteLocked()
}

// interrupted records that the contents are to be read again.
func (c *Client) interrupted(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Connected, c.status.Held, c.status.Err = false, false, err
	c.noteLocked()
}

// noteLocked tells waiters and the consumer that something is new; c.mu is held.
func (c *Client) noteLocked() {
	close(c.changed)
	c.changed = make(chan struct{})
	c.signal()
}

// signal tells the consumer that something is new.
func (c *Client) signal() {
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// Ready implements Conn.
func (c *Client) Ready() <-chan struct{} { return c.ready }

// Take implements Conn.
func (c *Client) Take() *Batch {
	b := c.dec.Take()
	if b != nil && c.dec.Waiting() > 0 {
		c.signal()
	}
	return b
}

// Waiting is the number of transactions that the server has told of and that have
// not been taken yet.
func (c *Client) Waiting() int { return c.dec.Waiting() }

// Status implements Conn.
func (c *Client) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	st := c.status
	st.Asking = st.Connected && c.answered < c.asked
	return st
}

// Has implements Conn. A column that the server has, but as another type than
// its Table, counts as one that it lacks.
func (c *Client) Has(table, column string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.schema == nil {
		for _, t := range c.o.Tables {
			if t.Name == table && t.declared != nil {
				return column == "" || t.declared.Columns[column] != nil
			}
		}
		return true
	}
	t := c.schema.Table(table)
	return t != nil && (column == "" || t.Columns[column] != nil && !c.unfit[tableColumn{table, column}])
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
//
// A server sends the update about a transaction before the answer to it, on the
// same connection (RFC 7047 section 4.1.6), and one goroutine reads both in that
// order: when the call is done, Take has what the transaction changed.
func (c *Client) Send(t *Txn) *Call {
	call := NewCall()
	c.mu.Lock()
	s := c.session
	up := c.status.Connected
	c.mu.Unlock()
	if s == nil || !up {
		call.Finish(nil, ErrNotSent)
		return call
	}
	size := int64(t.Bytes())
	s.work.Add(size)
	var results []Result
	var failed error
	errorOnly := t.errorOnly
	parts := t.params(c.o.Database)
	read := func(p *parser) (err error) {
		results, failed, err = p.transacted(errorOnly)
		return err
	}
	done := func(_ []byte, err error) {
		s.work.Add(-size)
		var rpc *rpcError
		switch {
		case errors.As(err, &rpc):
			kind, details := rpc.parts()
			call.Finish(nil, &TxnError{Op: -1, Kind: kind, Details: details})
		case err != nil:
			call.Finish(nil, err)
		default:
			if failed == nil {
				c.dec.sent(parts[1])
			}
			call.Finish(results, failed)
		}
	}
	s.request("transact", reply{read, done}, parts...)
	return call
}

// Transact sends t and waits for its result, or for ctx to be done, which does
// not keep the server from executing t.
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
		if st.Err == errClosed {
			return fmt.Errorf("%s: %w", c.o.Database, errClosed)
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

// SetProbe changes the inactivity probe, see Options.Probe.
func (c *Client) SetProbe(d time.Duration) {
	c.mu.Lock()
	c.probe = d
	c.mu.Unlock()
}

func (c *Client) probeInterval() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.probe
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

// params is the JSON array of what a method takes.
func params(values ...any) []byte {
	b, err := json.Marshal(values)
	if err != nil {
		panic("ovsdb: " + err.Error()) // a value that no JSON can be made of: an error of the program
	}
	return b
}
