package ovsdb

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// atomKind is the type of an atom as it is written.
type atomKind uint8

const (
	atomString atomKind = iota
	atomInt
	atomReal
	atomBool
	atomUUID
)

func (k atomKind) String() string {
	return [...]string{"string", "integer", "real", "boolean", "uuid"}[k]
}

// atom is one value of a column (RFC 7047 section 3.1). UUIDs and strings are
// both in s; of an integer, f has the value too, which a real column may be
// written as.
type atom struct {
	kind atomKind
	b    bool
	s    string
	i    int64
	f    float64
}

// shape is how a datum is written.
type shape uint8

const (
	scalar shape = iota
	set
	pairs
)

// datum is a decoded value: one atom, the atoms of a set, or the keys and
// values of a map, alternating.
type datum struct {
	shape shape
	atoms []atom
}

// parser reads OVSDB's JSON from a stream of tokens.
type parser struct {
	dec   *jsontext.Decoder
	in    *Interner
	buf   []byte
	datum datum // for use again
}

// readDatum reads a value into d, whose memory is used again.
func (p *parser) readDatum(d *datum) error {
	d.shape, d.atoms = scalar, d.atoms[:0]
	if p.dec.PeekKind() != '[' {
		return p.readAtom(d)
	}
	if err := p.expect('['); err != nil {
		return err
	}
	tag, err := p.readBytes()
	if err != nil {
		return err
	}
	switch string(tag) {
	case "uuid":
		if err := p.readUUID(d); err != nil {
			return err
		}
	case "set":
		d.shape = set
		if err := p.expect('['); err != nil {
			return err
		}
		for {
			if more, err := p.more(']'); err != nil {
				return err
			} else if !more {
				break
			}
			if err := p.readAtom(d); err != nil {
				return err
			}
		}
	case "map":
		d.shape = pairs
		if err := p.expect('['); err != nil {
			return err
		}
		for {
			if more, err := p.more(']'); err != nil {
				return err
			} else if !more {
				break
			}
			if err := p.readPair(d); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("unknown kind of value %q", tag)
	}
	return p.expect(']')
}

func (p *parser) readPair(d *datum) error {
	if err := p.expect('['); err != nil {
		return err
	}
	for range 2 {
		if err := p.readAtom(d); err != nil {
			return err
		}
	}
	return p.expect(']')
}

// readAtom appends one atom to d.
func (p *parser) readAtom(d *datum) error {
	switch p.dec.PeekKind() {
	case '"':
		s, err := p.readString()
		if err != nil {
			return err
		}
		d.atoms = append(d.atoms, atom{kind: atomString, s: s})
	case '0':
		v, err := p.dec.ReadValue()
		if err != nil {
			return err
		}
		// An integer must not pass through a float, which has 53 bits only.
		if i, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			d.atoms = append(d.atoms, atom{kind: atomInt, i: i, f: float64(i)})
			return nil
		}
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			return err
		}
		d.atoms = append(d.atoms, atom{kind: atomReal, f: f})
	case 't', 'f':
		tok, err := p.dec.ReadToken()
		if err != nil {
			return err
		}
		d.atoms = append(d.atoms, atom{kind: atomBool, b: tok.Bool()})
	case '[':
		if err := p.expect('['); err != nil {
			return err
		}
		tag, err := p.readBytes()
		if err != nil {
			return err
		}
		if string(tag) != "uuid" {
			return fmt.Errorf("%q where an atom was expected", tag)
		}
		if err := p.readUUID(d); err != nil {
			return err
		}
		return p.expect(']')
	default:
		v, err := p.dec.ReadValue()
		if err != nil {
			return err
		}
		return fmt.Errorf("%s where a value was expected", v)
	}
	return nil
}

func (p *parser) readUUID(d *datum) error {
	s, err := p.readString()
	d.atoms = append(d.atoms, atom{kind: atomUUID, s: s})
	return err
}

// readBytes reads a string; the result is good until the next read.
func (p *parser) readBytes() ([]byte, error) {
	v, err := p.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	if v.Kind() != '"' {
		return nil, fmt.Errorf("%s where a string was expected", v)
	}
	b := v[1 : len(v)-1]
	for _, c := range b {
		if c == '\\' || c >= 0x80 { // an escape, or perhaps broken UTF-8
			// The error is of broken UTF-8, which the result has mended.
			p.buf, _ = jsontext.AppendUnquote(p.buf[:0], v)
			return p.buf, nil
		}
	}
	return b, nil
}

// readString reads a string that is likely to be met again.
func (p *parser) readString() (string, error) {
	b, err := p.readBytes()
	if err != nil {
		return "", err
	}
	return p.in.Bytes(b), nil
}

// expect reads a delimiter.
func (p *parser) expect(kind jsontext.Kind) error {
	tok, err := p.dec.ReadToken()
	if err != nil {
		return err
	}
	if tok.Kind() != kind {
		return fmt.Errorf("%s where %q was expected", tok, byte(kind))
	}
	return nil
}

// more reports whether an array or object goes on; its closing delimiter, end,
// is read.
func (p *parser) more(end jsontext.Kind) (bool, error) {
	switch p.dec.PeekKind() {
	case end, 0: // 0: ReadToken has the error
		_, err := p.dec.ReadToken()
		return false, err
	}
	return true, nil
}

// members reads an object, calling f at the value of each of its members. The
// name is good until f reads.
func (p *parser) members(f func(name []byte) error) error {
	if err := p.expect('{'); err != nil {
		return err
	}
	for {
		if more, err := p.more('}'); err != nil || !more {
			return err
		}
		name, err := p.readBytes()
		if err != nil {
			return err
		}
		if err := f(name); err != nil {
			return err
		}
	}
}
