package flows

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSorted: whatever the order of a row's members, and however little of it is out
// of place.
func TestSorted(t *testing.T) {
	for _, list := range [][]string{
		nil, {}, {"a"}, {"a", "b"}, {"b", "a"}, {"a", "c", "d", "b"}, {"b", "c", "d", "a"}, {"c", "b", "a", "d"}, {"a", "b", "a"},
	} {
		was, want := slices.Clone(list), slices.Sorted(slices.Values(list))
		if got := sorted(list); !slices.Equal(got, want) || (got == nil) != (list == nil) {
			t.Errorf("%q: got %q, want %q", list, got, want)
		}
		if diff := cmp.Diff(was, list); diff != "" {
			t.Errorf("the list itself was changed (-was +is):\n%s", diff)
		}
	}
}

// TestListed: a set that changes at random, listed now and then, is always what its
// members are, and differs from what it was listed as by what has changed.
func TestListed(t *testing.T) {
	tab := newTestTable()
	s := tab.Set(SetKey{Kind: "s"})
	in := map[string]bool{}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		dp := fmt.Sprintf("dp%02d", r.IntN(60))
		if in[dp] {
			s.With(dp).Remove()
			delete(in, dp)
		} else {
			s.With(dp).Add()
			in[dp] = true
		}
		if was := slices.Clone(s.listed); was != nil && r.IntN(4) == 0 {
			came, went := s.difference()
			wantCame, wantWent := difference(was, sortedKeys(in))
			if !slices.Equal(came, wantCame) || !slices.Equal(went, wantWent) {
				t.Fatalf("difference: got %q and %q, want %q and %q", came, went, wantCame, wantWent)
			}
		}
		if r.IntN(6) == 0 {
			was := s.listed
			copied := slices.Clone(was)
			if diff := cmp.Diff(sortedKeys(in), s.uuids()); diff != "" {
				t.Fatalf("members (-want +got):\n%s", diff)
			}
			if !slices.Equal(was, copied) {
				t.Fatal("what was listed before has been changed")
			}
		}
	}
}
