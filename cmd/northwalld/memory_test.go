package main

import (
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TestAdviseHuge: the kernel is told of a part of the heap, none of which is used by
// that.
func TestAdviseHuge(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage/enabled"); err != nil {
		t.Skip("the kernel has no huge pages")
	}
	const bytes = 64 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	adviseHuge(bytes)
	runtime.ReadMemStats(&after)
	if after.HeapAlloc > before.HeapAlloc+bytes/2 {
		t.Errorf("%d bytes of the heap are in use, %d before", after.HeapAlloc, before.HeapAlloc)
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^VmFlags:.* hg( |$)`).Match(maps) {
		t.Errorf("no memory is advised to be in huge pages, of %d mappings", strings.Count(string(maps), "VmFlags:"))
	}
}
