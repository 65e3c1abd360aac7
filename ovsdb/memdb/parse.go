package memdb

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// An operation is one element of a transaction, parsed as far as that is
// possible without knowing the table: values stay JSON.
type operation struct {
	op        string
	table     string
	where     jsontext.Value
	row       jsontext.Value
	rows      jsontext.Value
	columns   jsontext.Value
	mutations jsontext.Value
	until     string
	timeout   jsontext.Value
	lock      string
	uuid      string
	uuidName  string
}

// parser reads JSON out of one slice of bytes. The first error sticks and makes
// whatever follows empty.
type parser struct {
	dec *jsontext.Decoder
	src []byte
	err error
}

func newParser(src []byte) *parser {
	return &parser{dec: jsontext.NewDecoder(bytes.NewBuffer(src)), src: src}
}

func (p *parser) fail(err error) {
	if p.err == nil && err != nil {
		p.err = err
	}
}

func (p *parser) peek() jsontext.Kind {
	if p.err != nil {
		return 0
	}
	return p.dec.PeekKind()
}

// raw reads any value, unparsed.
func (p *parser) raw() jsontext.Value {
	if p.err != nil {
		return nil
	}
	v, err := p.dec.ReadValue()
	p.fail(err)
	end := int(p.dec.InputOffset())
	return p.src[end-len(v) : end] // v itself does not outlive the next call
}

func (p *parser) string() string {
	if p.peek() != '"' {
		p.fail(failf(syntaxError, "%s where a string was expected", p.raw()).error())
		return ""
	}
	v := p.raw()
	if s := v[1 : len(v)-1]; bytes.IndexByte(s, '\\') < 0 {
		return string(s)
	}
	s, err := jsontext.AppendUnquote(nil, v)
	p.fail(err)
	if bytes.IndexByte(s, 0) >= 0 {
		p.fail(failf(syntaxError, "null bytes not supported in quoted strings").error())
	}
	return string(s)
}

// open reads the delimiter that starts an array or object.
func (p *parser) open(kind jsontext.Kind) bool {
	if p.peek() != kind {
		if p.err == nil {
			p.fail(failf(syntaxError, "%s where %q was expected", p.raw(), kind).error())
		}
		return false
	}
	_, err := p.dec.ReadToken()
	p.fail(err)
	return p.err == nil
}

// more reports whether the array or object that ends with kind goes on, and
// reads its end if not.
func (p *parser) more(kind jsontext.Kind) bool {
	switch p.peek() {
	case kind:
		_, err := p.dec.ReadToken()
		p.fail(err)
		return false
	case 0:
		if p.err == nil {
			_, err := p.dec.ReadToken()
			p.fail(err)
		}
		return false
	}
	return true
}

func (p *parser) array(f func()) {
	if p.open('[') {
		for p.more(']') {
			f()
		}
	}
}

func (p *parser) object(f func(name string)) {
	if p.open('{') {
		for p.more('}') {
			f(p.string())
		}
	}
}

func (p *parser) strings() (out []string) {
	p.array(func() { out = append(out, p.string()) })
	return out
}

// parseOperations reads the parameters of a "transact" request.
func parseOperations(params []byte) ([]operation, error) {
	p := newParser(params)
	var ops []operation
	first := true
	p.array(func() {
		if first {
			first = false
			p.string() // the name of the database
			return
		}
		ops = append(ops, p.operation())
	})
	return ops, p.err
}

func (p *parser) operation() (o operation) {
	p.object(func(name string) {
		switch name {
		case "op":
			o.op = p.string()
		case "table":
			o.table = p.string()
		case "where":
			o.where = p.raw()
		case "row":
			o.row = p.raw()
		case "rows":
			o.rows = p.raw()
		case "columns":
			o.columns = p.raw()
		case "mutations":
			o.mutations = p.raw()
		case "until":
			o.until = p.string()
		case "timeout":
			o.timeout = p.raw()
		case "lock":
			o.lock = p.string()
		case "uuid":
			o.uuid = p.string()
		case "uuid-name":
			o.uuidName = p.string()
		default:
			p.raw()
		}
	})
	return o
}

var (
	validUUID = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	validID   = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

func isUUID(s string) bool {
	if len(s) != len(zeroUUID) {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case '0' <= c && c <= '9' || 'a' <= c && c <= 'f':
		default:
			return validUUID.MatchString(s) // rarely: capitals
		}
	}
	return true
}

// A shape is the form in which a datum is accepted: a column's type with other
// bounds on its size.
type shape struct {
	*column
	isMap    bool
	min, max int
}

func (c *column) shape() shape { return shape{c, c.isMap, c.min, c.max} }

// anySize accepts any number of elements.
func (c *column) anySize() shape { return shape{c, c.isMap, 0, math.MaxInt} }

// datum reads a value of a column and checks it against the column's
// constraints.
func (t *txn) datum(p *parser, s shape) (datum, *failure) {
	var d datum
	var err *failure
	if s.isMap {
		if err = p.tagged("map", func() *failure {
			if !p.open('[') {
				return p.failure()
			}
			k, err := t.atom(p, &s.key)
			if err != nil {
				return err
			}
			v, err := t.atom(p, &s.value)
			if err != nil {
				return err
			}
			if p.more(']') {
				return failf(syntaxError, "a pair of a map has two elements")
			}
			d.keys, d.values = append(d.keys, k), append(d.values, v)
			return p.failure()
		}); err != nil {
			return d, err
		}
	} else if p.peek() == '[' && p.isSet() {
		if err = p.tagged("set", func() *failure {
			a, err := t.atom(p, &s.key)
			d.keys = append(d.keys, a)
			return err
		}); err != nil {
			return d, err
		}
	} else {
		a, err := t.atom(p, &s.key)
		if err != nil {
			return d, err
		}
		d.keys = []atom{a}
	}
	if n := len(d.keys); n < s.min || n > s.max {
		return d, failf(syntaxError, "%d values in column %s, whose type requires between %s", n, s.name, s.bounds())
	}
	return d, d.sort(s)
}

// sort puts a datum that was just read into order.
func (d datum) sort(s shape) *failure {
	compare := s.key.kind.compare
	switch {
	case slices.IsSortedFunc(d.keys, compare):
	case d.values == nil:
		slices.SortFunc(d.keys, compare)
	default:
		pairs := make([][2]atom, len(d.keys))
		for i := range pairs {
			pairs[i] = [2]atom{d.keys[i], d.values[i]}
		}
		slices.SortFunc(pairs, func(a, b [2]atom) int { return compare(a[0], b[0]) })
		for i, p := range pairs {
			d.keys[i], d.values[i] = p[0], p[1]
		}
	}
	for i := 1; i < len(d.keys); i++ {
		if d.keys[i] == d.keys[i-1] {
			what := "set contains duplicate"
			if s.isMap {
				what = "map contains duplicate key"
			}
			return failf(duplicateElement, "%s: %s", what, d.keys[i].format(s.key.kind))
		}
	}
	return nil
}

// isSet looks ahead into an array: a UUID is one, too.
func (p *parser) isSet() bool {
	next := bytes.TrimLeft(p.src[p.dec.InputOffset():], " \t\r\n,:[")
	return bytes.HasPrefix(next, []byte(`"set"`))
}

// tagged reads ["tag", [element, ...]].
func (p *parser) tagged(tag string, element func() *failure) *failure {
	if !p.open('[') {
		return p.failure()
	}
	if got := p.string(); got != tag {
		return failf(syntaxError, "%q where a %s was expected", got, tag)
	}
	if p.open('[') {
		for p.more(']') {
			if err := element(); err != nil {
				return err
			}
		}
	}
	if p.more(']') {
		return failf(syntaxError, "a %s has one list of elements", tag)
	}
	return p.failure()
}

// atom reads one atom and checks it.
func (t *txn) atom(p *parser, b *baseType) (atom, *failure) {
	var a atom
	kind := p.peek()
	switch {
	case b.kind == kindString && kind == '"':
		a.s = p.string()
	case b.kind == kindUUID && kind == '[':
		p.open('[')
		tag, id := p.string(), p.string()
		p.more(']')
		switch {
		case p.err != nil:
		case tag == "uuid" && isUUID(id):
			a.s = lower(id)
		case tag == "named-uuid" && validID.MatchString(id):
			a.s = t.named(id)
		default:
			return a, failf(syntaxError, "[%q,%q] is no UUID", tag, id)
		}
	case b.kind == kindBoolean && (kind == 't' || kind == 'f'):
		a = boolAtom(p.raw()[0] == 't')
	case b.kind == kindInteger && kind == '0':
		v := p.raw()
		n, err := strconv.ParseInt(string(v), 10, 64)
		if err != nil {
			// 1.0 and 1e3 are integers, too.
			f, ferr := strconv.ParseFloat(string(v), 64)
			if ferr != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
				return a, failf(syntaxError, "%s where an integer was expected", v)
			}
			n = int64(f)
		}
		a.n = n
	case b.kind == kindReal && kind == '0':
		f, err := strconv.ParseFloat(string(p.raw()), 64)
		p.fail(err)
		a = realAtom(f)
	default:
		v := p.raw()
		if err := p.failure(); err != nil {
			return a, err
		}
		return a, failf(syntaxError, "%s where a value of type %s was expected", v, b.kind)
	}
	if err := p.failure(); err != nil {
		return a, err
	}
	return a, b.check(a)
}

// failure is the parser's error, if any.
func (p *parser) failure() *failure {
	if p.err == nil {
		return nil
	}
	return failf(syntaxError, "%v", p.err)
}

func lower(uuid string) string {
	b := []byte(nil)
	for i := range len(uuid) {
		if c := uuid[i]; 'A' <= c && c <= 'F' {
			if b == nil {
				b = []byte(uuid)
			}
			b[i] = c + 'a' - 'A'
		}
	}
	if b == nil {
		return uuid
	}
	return string(b)
}
