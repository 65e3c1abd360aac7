package expr

import "math/bits"

// Value is an unsigned integer of up to 128 bits, the widest field there is.
type Value struct{ Hi, Lo uint64 }

// Uint returns x as a Value.
func Uint(x uint64) Value { return Value{Lo: x} }

// ones returns the value whose n low bits are set; n is 0 to 128.
func ones(n int) Value {
	switch {
	case n <= 0:
		return Value{}
	case n < 64:
		return Value{Lo: 1<<n - 1}
	case n < 128:
		return Value{Hi: 1<<(n-64) - 1, Lo: ^uint64(0)}
	}
	return Value{Hi: ^uint64(0), Lo: ^uint64(0)}
}

// prefix returns the mask of the n high bits out of width.
func prefix(n, width int) Value { return ones(width).andNot(ones(width - n)) }

func (v Value) and(w Value) Value    { return Value{v.Hi & w.Hi, v.Lo & w.Lo} }
func (v Value) or(w Value) Value     { return Value{v.Hi | w.Hi, v.Lo | w.Lo} }
func (v Value) andNot(w Value) Value { return Value{v.Hi &^ w.Hi, v.Lo &^ w.Lo} }
func (v Value) isZero() bool         { return v.Hi == 0 && v.Lo == 0 }
func (v Value) odd() bool            { return v.Lo&1 != 0 }

func (v Value) shl(n int) Value {
	if n >= 64 {
		return Value{Hi: v.Lo << (n - 64)}
	}
	return Value{Hi: v.Hi<<n | v.Lo>>(64-n), Lo: v.Lo << n}
}

func (v Value) shr(n int) Value {
	if n >= 64 {
		return Value{Lo: v.Hi >> (n - 64)}
	}
	return Value{Hi: v.Hi >> n, Lo: v.Lo>>n | v.Hi<<(64-n)}
}

// bitLen returns the number of bits that v needs, 0 for zero.
func (v Value) bitLen() int {
	if v.Hi != 0 {
		return 64 + bits.Len64(v.Hi)
	}
	return bits.Len64(v.Lo)
}

// cmp returns -1, 0 or 1 as v is less than, equal to or greater than w.
func (v Value) cmp(w Value) int {
	switch {
	case v == w:
		return 0
	case v.Hi < w.Hi, v.Hi == w.Hi && v.Lo < w.Lo:
		return -1
	}
	return 1
}

// prefixLen returns how many of the width high bits are set where v is such a
// prefix mask, else false.
func (v Value) prefixLen(width int) (int, bool) {
	zeros := 0
	if v.Lo != 0 {
		zeros = bits.TrailingZeros64(v.Lo)
	} else if v.Hi != 0 {
		zeros = 64 + bits.TrailingZeros64(v.Hi)
	} else {
		return 0, true
	}
	n := width - zeros
	return n, v == prefix(n, width)
}
