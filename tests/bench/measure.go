package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"northwall/ovsdb"
)

// result is what was measured of one northd at one size.
type result struct {
	Edits     map[string][]time.Duration // by name, in the order they were made
	Spent     map[string][]spent         // the same, of northwall
	Flows     int
	Load      time.Duration // from the first write of the load until caught up
	Recompute whole
	Cold      whole         // northbound full, southbound empty
	Replay    time.Duration // the transactions of a cold start, sent again by a client that does nothing else
	Warm      whole         // both full
	Peak      int64         // bytes of memory, after the load, the edits and recomputes
}

// whole is what an operation on everything took.
type whole struct {
	Took time.Duration
	Next time.Duration // with an edit after it, of starts
	CPU  time.Duration // of the northd, with that edit's
	Peak int64         // bytes; not of recomputes
}

// p50 is the median of an edit, false if it was not made.
func (r *result) p50(edit string) (time.Duration, bool) { return r.quantile(edit, 0.5) }

func (r *result) quantile(edit string, q float64) (time.Duration, bool) {
	if r == nil || len(r.Edits[edit]) == 0 {
		return 0, false
	}
	return quantile(r.Edits[edit], q), true
}

// runner measures.
type runner struct {
	dir      string // where databases go
	northds  []northd
	stockAt  []string // sizes at which the original is measured
	rounds   int
	progress *progress
}

// measure measures all northds at one size, with the same edits in turn, so that
// whatever else the machine does falls on all of them.
func (r *runner) measure(ctx context.Context, s size) (map[string]*result, error) {
	results := map[string]*result{}
	var worlds []*world
	defer func() {
		for _, w := range worlds {
			w.close()
		}
	}()
	for _, n := range r.northds {
		if n.name == nameStock && !slices.Contains(r.stockAt, s.Name) {
			continue
		}
		w, err := newWorld(ctx, r.dir, n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.name, err)
		}
		worlds = append(worlds, w)
		results[n.name] = &result{Edits: map[string][]time.Duration{}, Spent: map[string][]spent{}}
		if err := r.load(ctx, s, w, results[n.name]); err != nil {
			return nil, fmt.Errorf("%s: loading: %w", n.name, err)
		}
	}
	r.progress.phase("%s: edits", s.Name)
	for _, w := range worlds {
		if w.name == nameNorthwall {
			if _, err := takeSpent(ctx, w.dir); err != nil {
				return nil, err
			}
		}
	}
	for i := range r.rounds {
		r.progress.step("%s: edits, round %d of %d", s.Name, i+1, r.rounds)
		round := newRound(s, i)
		for _, e := range edits {
			for _, w := range worlds {
				txn := ovsdb.NewTxn()
				e.write(txn, round)
				if err := w.measure(ctx, e.Name, txn, results[w.name]); err != nil {
					return nil, fmt.Errorf("%s: %s: %w", w.name, e.Name, err)
				}
			}
		}
	}
	for _, w := range worlds {
		if w.name != nameFloor {
			if err := r.whole(ctx, s, w, results[w.name]); err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	return results, nil
}

// measure makes an edit.
func (w *world) measure(ctx context.Context, name string, txn *ovsdb.Txn, to *result) error {
	took, err := w.edit(ctx, txn)
	if err != nil {
		return err
	}
	to.Edits[name] = append(to.Edits[name], took)
	if w.name != nameNorthwall {
		return nil
	}
	on, err := takeSpent(ctx, w.dir)
	to.Spent[name] = append(to.Spent[name], on)
	return err
}

// spentP50 are the medians of what an edit was spent on.
func (r *result) spentP50(edit string) (s spent) {
	list := r.Spent[edit]
	if len(list) == 0 {
		return s
	}
	return spent{
		Server: medianOf(list, func(s spent) time.Duration { return s.Server }),
		Ours:   medianOf(list, func(s spent) time.Duration { return s.Ours }),
	}
}

func (r *runner) load(ctx context.Context, s size, w *world, to *result) error {
	r.progress.phase("%s: %s: loading", s.Name, w.name)
	began := time.Now()
	sent := 0
	err := load(s, func(txn *ovsdb.Txn) error {
		sent++
		r.progress.step("%s: %s: loading, transaction %d of %d", s.Name, w.name, sent, s.transactions())
		return w.send(ctx, txn)
	})
	if err != nil {
		return err
	}
	r.progress.phase("%s: %s: catching up with the load", s.Name, w.name)
	if _, err := w.edit(ctx, ovsdb.NewTxn()); err != nil {
		return err
	}
	to.Load = time.Since(began)
	to.Flows, err = w.flows(ctx)
	return err
}

// repeats is how often an operation on everything is measured; the median counts.
const repeats = 3

// whole measures the operations on everything.
func (r *runner) whole(ctx context.Context, s size, w *world, to *result) error {
	var recomputes, cold, warm []whole
	for i := range repeats {
		r.progress.phase("%s: %s: recompute %d of %d", s.Name, w.name, i+1, repeats)
		one, err := w.recompute(ctx)
		if err != nil {
			return fmt.Errorf("recompute: %w", err)
		}
		recomputes = append(recomputes, one)
	}
	u, err := w.usage()
	if err != nil {
		return err
	}
	to.Peak = u.Peak
	var messages [][]byte
	var replays []time.Duration
	if w.name == nameNorthwall {
		r.progress.phase("%s: %s: recording a cold start", s.Name, w.name)
		if messages, err = w.recordStart(ctx); err != nil {
			return fmt.Errorf("recording a cold start: %w", err)
		}
	}
	for i := range repeats {
		if messages != nil {
			r.progress.phase("%s: %s: playing back a cold start, %d of %d", s.Name, w.name, i+1, repeats)
			took, err := w.replay(ctx, messages)
			if err != nil {
				return fmt.Errorf("replay: %w", err)
			}
			replays = append(replays, took)
		}
		r.progress.phase("%s: %s: cold start %d of %d", s.Name, w.name, i+1, repeats)
		one, err := w.restart(ctx, true, w.sbSocket())
		if err != nil {
			return fmt.Errorf("cold start: %w", err)
		}
		cold = append(cold, one)
		r.progress.phase("%s: %s: warm start %d of %d", s.Name, w.name, i+1, repeats)
		if one, err = w.restart(ctx, false, w.sbSocket()); err != nil {
			return fmt.Errorf("warm start: %w", err)
		}
		warm = append(warm, one)
	}
	to.Recompute, to.Cold, to.Warm = medians(recomputes), medians(cold), medians(warm)
	if len(replays) > 0 {
		to.Replay = quantile(replays, 0.5)
	}
	return nil
}

// medians are the medians of each figure.
func medians(all []whole) whole {
	return whole{
		Took: medianOf(all, func(w whole) time.Duration { return w.Took }),
		Next: medianOf(all, func(w whole) time.Duration { return w.Next }),
		CPU:  medianOf(all, func(w whole) time.Duration { return w.CPU }),
		Peak: medianOf(all, func(w whole) int64 { return w.Peak }),
	}
}

// medianOf is the median of a figure of each of a list.
func medianOf[E any, T cmp.Ordered](list []E, get func(E) T) T {
	var all []T
	for _, e := range list {
		all = append(all, get(e))
	}
	return quantile(all, 0.5)
}

// quantile is a member of a list, the lower one where q is between two.
func quantile[T cmp.Ordered](list []T, q float64) T {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[int(q*float64(len(sorted)-1))]
}

// recompute has the northd compute everything, and waits for an edit after it.
func (w *world) recompute(ctx context.Context) (whole, error) {
	before, err := w.usage()
	if err != nil {
		return whole{}, err
	}
	began := time.Now()
	if err := recompute(ctx, w.dir); err != nil {
		return whole{}, err
	}
	if _, err := w.edit(ctx, ovsdb.NewTxn()); err != nil {
		return whole{}, err
	}
	took := time.Since(began)
	after, err := w.usage()
	return whole{Took: took, CPU: after.CPU - before.CPU}, err
}
