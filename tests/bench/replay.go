package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// What writing the southbound database takes at least is measured with a cold start's
// transactions: they are recorded, and sent again to an empty database by a client that
// does nothing else.

// recordStart records a cold start.
func (w *world) recordStart(ctx context.Context) ([][]byte, error) {
	rec, err := record(filepath.Join(w.dir, "record.sock"), w.sbSocket())
	if err != nil {
		return nil, err
	}
	defer rec.close()
	if _, err := w.restart(ctx, true, rec.path); err != nil {
		return nil, err
	}
	w.daemon.stop()
	return rec.close()
}

// replay plays a recorded cold start back, and leaves no northd running.
func (w *world) replay(ctx context.Context, messages [][]byte) (time.Duration, error) {
	w.daemon.stop()
	if err := w.emptySouthbound(ctx); err != nil {
		return 0, err
	}
	return play(w.sbSocket(), messages)
}

// recorder is a proxy before an OVSDB server, for one connection.
type recorder struct {
	path     string
	listener net.Listener
	done     chan struct{}
	messages [][]byte // what takes the lock, and transactions
	err      error
}

func record(path, server string) (*recorder, error) {
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	r := &recorder{path: path, listener: l, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = r.serve(server)
	}()
	return r, nil
}

func (r *recorder) serve(server string) error {
	client, err := r.listener.Accept()
	if err != nil {
		return err
	}
	defer client.Close()
	s, err := net.Dial("unix", server)
	if err != nil {
		return err
	}
	defer s.Close()
	go func() {
		_, _ = io.Copy(client, s) // ends when either side is closed
		client.Close()
	}()
	dec := jsontext.NewDecoder(io.TeeReader(client, s), jsontext.AllowDuplicateNames(true))
	for {
		v, err := dec.ReadValue()
		if err != nil {
			return nil // the client has ended, which is how a recording ends
		}
		if isMethod(v, "transact") || isMethod(v, "lock") {
			r.messages = append(r.messages, bytes.Clone(v))
		}
	}
}

// isMethod reports whether a request is of a method; its name comes before the
// parameters in what is recorded here.
func isMethod(request []byte, method string) bool {
	head, _, _ := bytes.Cut(request, []byte(`"params"`))
	return bytes.Contains(head, fmt.Appendf(nil, `"method":%q`, method))
}

// close ends the recording, whose client has ended, and returns it.
func (r *recorder) close() ([][]byte, error) {
	r.listener.Close()
	<-r.done
	return r.messages, r.err
}

// play sends messages one after the other, each after the answer to the one
// before.
func play(server string, messages [][]byte) (time.Duration, error) {
	if len(messages) == 0 {
		return 0, errors.New("nothing was recorded")
	}
	c, err := net.Dial("unix", server)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	dec := jsontext.NewDecoder(c, jsontext.AllowDuplicateNames(true))
	began := time.Now()
	for _, m := range messages {
		if _, err := c.Write(m); err != nil {
			return 0, err
		}
		answer, err := dec.ReadValue()
		if err != nil {
			return 0, err
		}
		if bytes.Contains(answer, []byte(`"details"`)) || !bytes.Contains(answer, []byte(`"error":null`)) {
			return 0, fmt.Errorf("replaying: %.300s", answer)
		}
	}
	return time.Since(began), nil
}
