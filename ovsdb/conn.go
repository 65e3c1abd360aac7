package ovsdb

// Conn is what a northd needs of a database: batches of changes in, transactions
// out. Client is the one that talks to a server; memdb.Conn stands in for it
// where no server is wanted. Methods may be called from any goroutine; Take is
// meant for one consumer.
type Conn interface {
	// Ready holds a value while Take or Status may have something new.
	Ready() <-chan struct{}
	// Take returns changes since the last call, merged into one batch, or nil when
	// there are none: all, up to one that undoes another, with which the next batch
	// begins. It never blocks.
	Take() *Batch
	// Send queues t behind the transactions sent before and returns at once. The
	// server executes them in that order. The Call is done after the changes that
	// the transaction made have become visible to Take, or when it has failed.
	Send(t *Txn) *Call
	// Status says what is known of the connection now.
	Status() Status
	// ReadRest ends Status.Held: Take is to have the rows of the tables that are held
	// back, too. It does nothing where there are none, and returns at once.
	ReadRest()
	// Has reports whether the server's schema has the table, and the column if it
	// is not empty. Before the first connection it reports what the project's
	// schema has.
	Has(table, column string) bool
}

// Status of a connection at one moment.
type Status struct {
	// Connected: the monitor is up and Take's state is current, but for tables that
	// are held back. A Take that comes after a Status with it, not one before, has all
	// that the server had.
	Connected bool
	// Partial: there are tables that are read last (Table.ReadLast), and Take may have
	// none of their rows yet, or some. It ends when Connected is set for the first
	// time, or, where tables are held back, when they are known after ReadRest.
	Partial bool
	// Held: Connected, but Take will have no rows of tables that are read last until
	// ReadRest is called (Table.HoldWithout). Then they may have to be read, without
	// Connected.
	Held   bool
	Remote string // the remote in use, or tried last
	Locked bool   // the configured lock is held here (false without one)
	Asking bool   // the answer to a request for the lock, or to give it back, is awaited
	Err    error  // why the connection is down, nil while Connected
	Epoch  uint64 // grows with each connection made
	Schema uint64 // grows with each change of the server's schema
}

// A Call is a transaction on its way.
type Call struct {
	done    chan struct{}
	results []Result
	err     error
}

// NewCall returns a call that is not done; implementations of Conn finish it
// with Finish.
func NewCall() *Call { return &Call{done: make(chan struct{})} }

// Finish ends the call with its results or error.
func (c *Call) Finish(results []Result, err error) {
	c.results, c.err = results, err
	close(c.done)
}

// Done is closed when the transaction has been answered or has failed.
func (c *Call) Done() <-chan struct{} { return c.done }

// Result waits for Done and returns one result for each operation, or none where
// the transaction was sent with ErrorOnly. The error is
// a *TxnError where the server refused the transaction (nothing was changed),
// ErrUnknown where the connection broke before the answer came (the transaction
// may or may not have been committed: read again), or ErrNotSent where it
// certainly never reached the server.
func (c *Call) Result() ([]Result, error) {
	<-c.done
	return c.results, c.err
}
