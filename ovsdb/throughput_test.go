package ovsdb_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"northwall/ovsdb"
	"northwall/schema"
)

// logicalFlow is the southbound table of the most rows, in its compact form.
type logicalFlow struct {
	UUID            string    `ovsdb:"_uuid"`
	LogicalDatapath *string   `ovsdb:"logical_datapath"`
	LogicalDpGroup  *string   `ovsdb:"logical_dp_group"`
	Pipeline        string    `ovsdb:"pipeline"`
	TableID         int       `ovsdb:"table_id"`
	Priority        int       `ovsdb:"priority"`
	Match           string    `ovsdb:"match"`
	Actions         string    `ovsdb:"actions"`
	Tags            ovsdb.Map `ovsdb:"tags"`
	ControllerMeter *string   `ovsdb:"controller_meter"`
	ExternalIDs     ovsdb.Map `ovsdb:"external_ids"`
	FlowDesc        *string   `ovsdb:"flow_desc"`
}

const benchFlows = 100_000

// flowRow is like what a northd writes: matches that are on one or two rows
// each, and few different actions, stages and sources.
func flowRow(i int) *logicalFlow {
	dp := fmt.Sprintf("%08x-0000-4000-8000-%012d", uint32(i/200)*40503*65537, i/200)
	actions := "next;"
	if i%4 == 0 {
		actions = fmt.Sprintf(`outport = "lsp-%d"; output;`, i/2)
	}
	return &logicalFlow{
		UUID:            fmt.Sprintf("%08x-0000-4000-8000-%012d", uint32(i)*2654435761, i),
		LogicalDatapath: &dp,
		Pipeline:        []string{"ingress", "egress"}[i%2],
		TableID:         i % 34,
		Priority:        i % 2000,
		Match:           fmt.Sprintf(`inport == "lsp-%d" && eth.src == 0a:00:00:%02x:%02x:%02x && ip4`, i/2, i>>17&255, i>>9&255, i>>1&255),
		Actions:         actions,
		ExternalIDs: ovsdb.NewMap("source", fmt.Sprintf("northd.c:%d", 1000+i%300),
			"stage-name", fmt.Sprintf("ls_in_stage_%d", i%34), "stage-hint", fmt.Sprintf("%08x", i/4)),
	}
}

func flowTable() *ovsdb.Table { return ovsdb.TableOf[logicalFlow](schema.Southbound(), "Logical_Flow") }

// flowUpdates is the <table-updates2> of a first snapshot of flows.
func flowUpdates(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"Logical_Flow":{`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		f := flowRow(i)
		fmt.Fprintf(&b, `%q:{"initial":{"actions":%q,"external_ids":["map",[`, f.UUID, f.Actions)
		for j, p := range f.ExternalIDs {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `[%q,%q]`, p.Key, p.Value)
		}
		fmt.Fprintf(&b, `]],"logical_datapath":["uuid",%q],"match":%q,"pipeline":%q,"priority":%d,"table_id":%d}}`,
			*f.LogicalDatapath, f.Match, f.Pipeline, f.Priority, f.TableID)
	}
	b.WriteString(`}}`)
	return b.Bytes()
}

// lenient are the options with which a Client reads.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// BenchmarkDecodeFlows reads a first snapshot of 100,000 flows. Measured on a
// machine of two cores: 0.3 s, 46 MB and 1 allocation a row.
func BenchmarkDecodeFlows(b *testing.B) {
	updates := flowUpdates(benchFlows)
	table := flowTable()
	b.SetBytes(int64(len(updates)))
	b.ReportAllocs()
	var kept *ovsdb.Batch
	for b.Loop() {
		d := ovsdb.NewDecoder(table)
		if err := d.ReadSnapshot(jsontext.NewDecoder(bytes.NewReader(updates), lenient...), ovsdb.UpdateDiff); err != nil {
			b.Fatal(err)
		}
		kept = d.Take()
	}
	if got := len(kept.Changes["Logical_Flow"]); got != benchFlows {
		b.Fatalf("got %d rows, want %d", got, benchFlows)
	}
}

// BenchmarkDecodeAgain reads a snapshot of which every row is known, as after a
// reconnection to a server without history. Measured: 0.3 s, 40 MB.
func BenchmarkDecodeAgain(b *testing.B) {
	updates := flowUpdates(benchFlows)
	d := ovsdb.NewDecoder(flowTable())
	read := func() *ovsdb.Batch {
		if err := d.ReadSnapshot(jsontext.NewDecoder(bytes.NewReader(updates), lenient...), ovsdb.UpdateDiff); err != nil {
			b.Fatal(err)
		}
		return d.Take()
	}
	read()
	b.SetBytes(int64(len(updates)))
	b.ReportAllocs()
	for b.Loop() {
		if read() != nil {
			b.Fatal("unchanged rows were delivered")
		}
	}
}

// BenchmarkBuildTransaction writes 100,000 flows into one transaction. Measured:
// 0.3 s, and no allocation but those of the growing buffer.
func BenchmarkBuildTransaction(b *testing.B) {
	table := flowTable()
	rows := make([]*logicalFlow, benchFlows)
	for i := range rows {
		rows[i] = flowRow(i)
	}
	size := 0
	b.ReportAllocs()
	for b.Loop() {
		txn := ovsdb.NewTxn()
		for _, r := range rows {
			table.Insert(txn, r)
		}
		size = txn.Bytes()
	}
	b.SetBytes(int64(size))
}

// TestFlowsInMemory bounds what a cached flow takes: that there are half a
// million of them is what packages such as this one fail on.
func TestFlowsInMemory(t *testing.T) {
	const n = 20_000
	updates := flowUpdates(n)
	d := ovsdb.NewDecoder(flowTable())
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	if err := d.ReadSnapshot(jsontext.NewDecoder(bytes.NewReader(updates), lenient...), ovsdb.UpdateDiff); err != nil {
		t.Fatal(err)
	}
	d.Take()
	perRow := (heap() - before) / n
	runtime.KeepAlive(d)
	runtime.KeepAlive(updates)
	const bound = 550 // bytes; 384 were measured
	if perRow > bound {
		t.Errorf("a flow takes %d bytes, want at most %d", perRow, bound)
	}
	t.Logf("%d bytes a flow, of %d on the wire", perRow, len(updates)/n)
}
