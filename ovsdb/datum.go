package ovsdb

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// atom is one value of a column: an integer, real, boolean, string or UUID
// (RFC 7047 section 3.1). UUIDs and strings are both in s.
type atom struct {
	s string
	i int64
	f float64
	b bool
}

// datum is a decoded column: the atoms of a set (of which a scalar is the case
// of one), or keys and values alternating.
type datum struct {
	atoms []atom
	isMap bool
}

// readDatum reads a value into d, whose memory is used again.
func (p *parser) readDatum(d *datum) error {
	d.atoms, d.isMap = d.atoms[:0], false
	if p.dec.PeekKind() != '[' {
		return p.readAtom(d)
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return err
	}
	tag, err := p.readString()
	if err != nil {
		return err
	}
	switch tag {
	case "uuid", "named-uuid":
		s, err := p.readString()
		if err != nil {
			return err
		}
		d.atoms = append(d.atoms, atom{s: s})
	case "set":
		if err := p.eachElement(func() error { return p.readAtom(d) }); err != nil {
			return err
		}
	case "map":
		d.isMap = true
		if err := p.eachElement(func() error {
			return p.eachElement(func() error { return p.readAtom(d) })
		}); err != nil {
			return err
		}
		if len(d.atoms)%2 != 0 {
			return fmt.Errorf("a map with a key without value")
		}
	default:
		return fmt.Errorf("unknown value %q", tag)
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
		d.atoms = append(d.atoms, atom{s: s})
	case '0':
		v, err := p.dec.ReadValue()
		if err != nil {
			return err
		}
		// An integer must not pass through a float, which has 53 bits only.
		if i, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			d.atoms = append(d.atoms, atom{i: i, f: float64(i)})
			return nil
		}
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			return err
		}
		d.atoms = append(d.atoms, atom{i: int64(f), f: f})
	case 't', 'f':
		tok, err := p.dec.ReadToken()
		if err != nil {
			return err
		}
		d.atoms = append(d.atoms, atom{b: tok.Bool()})
	case '[':
		if _, err := p.dec.ReadToken(); err != nil {
			return err
		}
		if _, err := p.readString(); err != nil { // "uuid"
			return err
		}
		s, err := p.readString()
		if err != nil {
			return err
		}
		d.atoms = append(d.atoms, atom{s: s})
		return p.expect(']')
	default:
		v, err := p.dec.ReadValue()
		if err != nil {
			return err
		}
		return fmt.Errorf("unexpected %s in a value", v)
	}
	return nil
}

// parser reads OVSDB's JSON from a stream of tokens.
type parser struct {
	dec *jsontext.Decoder
	in  *Interner
	buf []byte
}

func (p *parser) readString() (string, error) {
	v, err := p.dec.ReadValue()
	if err != nil {
		return "", err
	}
	if v.Kind() != '"' {
		return "", fmt.Errorf("%s where a string was expected", v)
	}
	b := v[1 : len(v)-1]
	for _, c := range b {
		if c == '\\' {
			if p.buf, err = jsontext.AppendUnquote(p.buf[:0], v); err != nil {
				return "", err
			}
			b = p.buf
			break
		}
	}
	return p.in.Bytes(b), nil
}

// expect reads the closing delimiter kind.
func (p *parser) expect(kind jsontext.Kind) error {
	tok, err := p.dec.ReadToken()
	if err != nil {
		return err
	}
	if tok.Kind() != kind {
		return fmt.Errorf("%s where %q was expected", tok, kind)
	}
	return nil
}

// eachElement reads an array, calling f at each of its elements.
func (p *parser) eachElement(f func() error) error {
	if err := p.expect('['); err != nil {
		return err
	}
	for p.dec.PeekKind() != ']' {
		if p.dec.PeekKind() == 0 {
			_, err := p.dec.ReadToken()
			return err
		}
		if err := f(); err != nil {
			return err
		}
	}
	return p.expect(']')
}

// eachMember reads an object, calling f at the value of each of its members.
func (p *parser) eachMember(f func(name string) error) error {
	if err := p.expect('{'); err != nil {
		return err
	}
	for p.dec.PeekKind() != '}' {
		name, err := p.readString()
		if err != nil {
			return err
		}
		if err := f(name); err != nil {
			return err
		}
	}
	return p.expect('}')
}
