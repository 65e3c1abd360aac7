package golden

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"

	"northwall/ovsdb/ctl"
	"northwall/tests/edits"
)

var (
	steps = flag.Int("steps", 80, "number of steps of each random walk")
	seed  = flag.Uint64("seed", 1, "first seed of random walks")
	seeds = flag.Int("seeds", 125, "number of seeds of TestRandomEdits")
)

// A walk makes random steps in memory.
type walk struct {
	*Memory
	maker *edits.Maker
	done  []edits.Step // those that changed something
}

func newWalk(ctx context.Context, seed uint64) (*walk, error) {
	k := &walk{Memory: NewMemory(), maker: edits.New(seed)}
	return k, runLine(ctx, k.Memory, initLine)
}

// step makes the next step that changes something, and nothing of what a northd
// makes of it.
func (k *walk) step(ctx context.Context) (edits.Step, error) {
	for {
		s := k.maker.Next(k.NB.Snapshot())
		if changed, err := k.edit(ctx, s); changed || err != nil {
			k.done = append(k.done, s)
			return s, err
		}
	}
}

// edit reports whether a step changed something. One that names what is not there
// changes nothing; the error is about one that is no command line.
func (m *Memory) edit(ctx context.Context, s edits.Step) (changed bool, err error) {
	line, southbound := s.OnSouthbound()
	if !southbound {
		line = s.String()
	}
	words, err := ctl.Words(line)
	if err != nil {
		return false, fmt.Errorf("%s: %w", s, err)
	}
	before := m.NB.Version() + m.SB.Version()
	if southbound {
		err = m.editors.southbound(ctx, words)
	} else {
		err = m.editors.northboundNoWait(ctx, words)
	}
	return err == nil && m.NB.Version()+m.SB.Version() > before, nil
}

// scratchEvery is after how many steps the southbound database is compared with
// one that begins empty, besides the last.
const scratchEvery = 10

// TestRandomEdits: after every random step, a new northd, which derives everything
// from scratch and remembers nothing, finds nothing to write: not a row is missing,
// too much or different. Now and then one that begins with an empty southbound
// database is compared, too, for what a northd leaves as it finds it.
func TestRandomEdits(t *testing.T) {
	var mu sync.Mutex
	made := map[string]int{} // edits by their generator
	t.Run("seed", func(t *testing.T) {
		for s := *seed; s < *seed+uint64(*seeds); s++ {
			t.Run(fmt.Sprint(s), func(t *testing.T) {
				t.Parallel()
				k, err := newWalk(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				for i := range *steps {
					s, err := k.step(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					mu.Lock()
					for _, g := range s.Generators {
						made[g]++
					}
					mu.Unlock()
					check := func(m *Memory) error { return errors.Join(m.sync(), restart(m)) }
					if i%scratchEvery == scratchEvery-1 || i == *steps-1 {
						check = func(m *Memory) error { return errors.Join(m.sync(), restart(m), scratch(m)) }
					}
					if err := check(k.Memory); err != nil {
						t.Fatalf("step %d: %v\nafter (made shorter):\n%s", len(k.done), err, shortened(t.Context(), k.done, check))
					}
				}
			})
		}
	})
	if *steps**seeds < 10000 {
		return
	}
	for _, name := range edits.Names() {
		if made[name] == 0 {
			t.Errorf("generator %q never changed anything: this tests too little", name)
		}
	}
}

// shortened is a scenario of as few steps as can be found after which check fails.
func shortened(ctx context.Context, done []edits.Step, check func(*Memory) error) string {
	const budget = 300
	steps := edits.Shrink(done, budget, func(steps []edits.Step) bool {
		m := NewMemory()
		err := runLine(ctx, m, initLine)
		for i := 0; i < len(steps) && err == nil; i++ {
			if _, err = m.edit(ctx, steps[i]); i < len(steps)-1 && err == nil {
				err = m.sync()
			}
		}
		return err == nil && check(m) != nil
	})
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}
