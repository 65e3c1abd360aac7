package memdb

import "slices"

// locks are RFC 7047's advisory locks (section 4.1.8): for each name those who
// asked for it, of whom the first has it.
type locks map[string][]*Conn

func (l locks) heldBy(name string, c *Conn) bool {
	queue := l[name]
	return c != nil && len(queue) > 0 && queue[0] == c
}

// request puts c at the end of the queue, or at its head to steal.
func (l locks) request(name string, c *Conn, steal bool) {
	queue := slices.Clone(l[name])
	switch {
	case steal:
		l.set(name, slices.Insert(l.without(name, c), 0, c))
	case !slices.Contains(queue, c):
		l.set(name, append(queue, c))
	}
}

func (l locks) release(name string, c *Conn) {
	l.set(name, l.without(name, c))
}

func (l locks) without(name string, c *Conn) []*Conn {
	return slices.DeleteFunc(slices.Clone(l[name]), func(other *Conn) bool { return other == c })
}

// set tells those whose hold of the lock may have changed.
func (l locks) set(name string, queue []*Conn) {
	if old := l[name]; len(old) > 0 {
		old[0].signal()
	}
	l[name] = queue
	for _, c := range queue {
		c.signal()
	}
}
