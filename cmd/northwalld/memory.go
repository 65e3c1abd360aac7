package main

import (
	"os"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// How much the heap may grow before garbage is collected, in percent of what is in use. At
// first it is the runtime's 100: nearly all that is read and derived at a start stays.
const (
	// From when all has been derived, while rows are still to come that it is compared with:
	// of two that are equal one becomes garbage.
	comparingPercent = 20
	// Once the first state is written. An edit leaves little garbage: to collect twice as
	// often as by default costs little, and bounds the memory.
	steadyPercent = 50
)

// hugeHeap is the part of the heap, in bytes, that is to be in huge pages. It is
// address space, not memory: that is taken when it is used.
const hugeHeap = 1 << 30

// tuneMemory suits the runtime to a heap that fills within seconds and then stays.
// derived and caughtUp are to be called when a daemon says so.
func tuneMemory() (derived, caughtUp func()) {
	adviseHuge(hugeHeap)
	if os.Getenv("GOGC") != "" {
		return nil, nil
	}
	return func() { debug.SetGCPercent(comparingPercent) }, func() { debug.SetGCPercent(steadyPercent) }
}

// adviseHuge has the kernel back the first bytes of the heap by huge pages (madvise(2),
// MADV_HUGEPAGE): to get a heap page by page is a third of the work of a start. The
// runtime has no setting for it, but it allocates at the lowest free address, and does
// not change what has been advised: so the range is allocated, advised of, and freed,
// without a page of it having been touched. Where the kernel has no huge pages, or gives
// them to nobody, this does nothing; where there is not that much address space to be
// had, which would be the end of the process, it is left.
func adviseHuge(bytes int) {
	probe, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return
	}
	_ = unix.Munmap(probe)
	b := make([]byte, bytes)
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	runtime.KeepAlive(b)
	b = nil
	runtime.GC()
}
