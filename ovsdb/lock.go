package ovsdb

import (
	"encoding/json"
	"errors"

	"go.uber.org/zap"
)

// SetLock asks for the lock, on this connection and those to come, in place of
// the one asked for before. Status says when it is held.
func (c *Client) SetLock(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lock == name {
		return
	}
	c.giveBackLocked()
	c.lock = name
	if name != "" {
		c.askLocked("lock")
	}
}

// Steal takes the lock that was asked for from whoever has it.
func (c *Client) Steal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lock == "" || c.status.Locked {
		return
	}
	// A server takes one request for a lock and connection at a time.
	c.giveBackLocked()
	c.askLocked("steal")
}

// Unlock gives the lock back, and asks for it no more.
func (c *Client) Unlock() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.giveBackLocked()
	c.lock = ""
}

// giveBackLocked ends what was asked for on this connection; c.mu is held.
func (c *Client) giveBackLocked() {
	if c.status.Locked {
		c.status.Locked = false
		c.noteLocked()
	}
	s := c.session
	if s == nil || s.asked == "" {
		return
	}
	// Nothing that is said of the lock until the next answer is of interest.
	c.asked++
	n := c.asked
	s.request("unlock", reply{done: func([]byte, error) { c.lockAnswered(n, "", false) }}, params(s.asked))
	s.asked = ""
}

// askLocked asks for the lock by a method, "lock" or "steal"; c.mu is held.
func (c *Client) askLocked(method string) {
	s := c.session
	if s == nil {
		return
	}
	c.asked++
	n, name := c.asked, c.lock
	s.asked = name
	s.request(method, reply{done: func(result []byte, err error) {
		var r struct{ Locked bool }
		if err == nil {
			err = json.Unmarshal(result, &r)
		}
		if err != nil && !errors.Is(err, ErrUnknown) && !errors.Is(err, ErrNotSent) {
			c.o.Log.Warn("the server does not give out the lock", zap.String("lock", name), zap.Error(err))
		}
		c.lockAnswered(n, name, err == nil && r.Locked)
	}}, params(name))
}

// lockAnswered takes the answer to request number n.
func (c *Client) lockAnswered(n int, name string, held bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered = max(c.answered, n)
	if n == c.asked {
		c.setLockedLocked(name, held)
		c.noteLocked() // Asking has ended
	}
}

// lockNotified takes a notification that the lock has been got or lost. One that
// comes before the answer to the last request is of a request before.
func (c *Client) lockNotified(name string, held bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answered == c.asked {
		c.setLockedLocked(name, held)
	}
}

func (c *Client) setLockedLocked(name string, held bool) {
	if name != "" && name == c.lock && c.status.Locked != held {
		c.status.Locked = held
		c.noteLocked()
	}
}
