// Package engine keeps derived things equal to what their derivations would
// compute from scratch, at a cost in proportion to what changed.
//
// It knows four kinds of things.
//
// An Input is a map that the outside sets: rows of a database, say.
//
// A Fact is a function of a key, computed when first asked for, remembered, and
// computed again only when something that it read has changed. Where the new
// value equals the old one, nothing that read it is disturbed.
//
// A Relation is a set of pairs (key, element), each counted: it is never
// written as a whole, derivations contribute pairs to it, and a pair is in the
// relation while at least one derivation contributes it. Readers may ask for
// the elements of a key, or only whether there are any, and are disturbed by
// changes of what they asked only. Where a large set is wanted that is kept by
// small differences, it is a Relation.
//
// A Rule is a derivation without a value, run for every key of a Source (the
// keys of an Input, the keys or the pairs of a Relation). It lives from its
// contributions: pairs of Relations, and whatever else implements Contribution
// (logical flows and database rows, in Northwall). When it runs again, what it
// contributes as before is left alone, and of the rest the new is added before
// the old is removed, so that what stays never flickers; when its key goes, its
// contributions go.
//
// # Order
//
// Facts, Relations and Rules form levels in the order in which they are made:
// a derivation may read only what was made before it, and a Relation may be
// read only by derivations made after all that contribute to it. Run works
// through the levels upwards, once. Each derivation therefore sees its inputs
// finished and runs at most once in a Run; there are no cycles to resolve and
// no intermediate states to see. Only rules contribute to Relations, since a
// fact runs whenever it is first asked for. A derivation that breaks the order
// is a bug of the program, reported as a Failure.
//
// Facts die when nobody reads them, at the end of a Run; so do absent keys of
// Inputs and empty keys of Relations.
//
// # What a derivation must and must not do
//
// Everything that it depends on must be read through the Scope that it is
// given. It must not keep the Scope, change what it read, or have effects other
// than contributions. It may allocate remembered things (tunnel keys) as long
// as the answer for the same question stays the same.
//
// A derivation that panics loses nothing but its own run: the contributions
// and value of its last good run stay in force, the Failure is reported, and it
// runs again when something changes that the failed run read. A fact that never
// had a good run has no value, and none is invented: those who ask for it fail
// too, and so keep what they had.
package engine
