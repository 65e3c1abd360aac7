package main

import (
	"os"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// gcPercent is how much the heap may grow before garbage is collected, in percent of
// what is in use, once the first state is written. Until then it is the runtime's 100:
// nearly all that a start allocates stays. An edit leaves little garbage: to collect
// twice as often as by default costs little, and bounds the memory.
const gcPercent = 50

// hugeHeap is the part of the heap, in bytes, that is to be in huge pages. It is
// address space, not memory: that is taken when it is used.
const hugeHeap = 1 << 30

// tuneMemory suits the runtime to a heap that fills within seconds and then stays.
// started is to be called when that has come about.
func tuneMemory() (started func()) {
	adviseHuge(hugeHeap)
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	return func() { debug.SetGCPercent(gcPercent) }
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
