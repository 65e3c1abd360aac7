package main

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// get returns the body of a page, or why there is none.
func get(url string) string {
	r, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}
	return r.Status + "\n" + string(body)
}

// TestMetrics: an edit is counted, in the form that Prometheus's own rules for
// names ask for.
func TestMetrics(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	p := newPlace(t)
	p.background(p.standalone("--metrics=" + addr)...)
	remote := "unix:" + p.path("nb.sock")
	addSwitch(t, remote, "sw0")
	eventually(t, "the switch's row", "yes", func() string {
		if strings.Contains(get("http://"+addr+"/metrics"), `northwall_rows_written_total{database="southbound",table="Datapath_Binding"} 1`) {
			return "yes"
		}
		return "no"
	})
	text := get("http://" + addr + "/metrics")
	for _, want := range []string{
		"northwall_active 1\n", "northwall_build_info{version=", `northwall_connected{database="northbound"} 1`,
		`northwall_derivations_held{derivation="switch"} 1`, `northwall_errors_total{kind="southbound_transaction"} 0`,
		`northwall_step_seconds_count{step="derive"} `, "northwall_edit_seconds_count ", "northwall_flows ", "go_memstats_heap_alloc_bytes ",
		`northwall_queue_transactions{database="northbound"} 0`, "northwall_recomputes_total 0\n", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	status, body, _ := strings.Cut(text, "\n")
	problems, err := promlint.New(strings.NewReader(body)).Lint()
	if err != nil || status != "200 OK" {
		t.Fatalf("%s: %v\n%s", status, err, body)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for page, want := range map[string]string{"/": "/metrics", "/debug/pprof/": "heap", "/debug/pprof/heap": "200 OK", "/none": "404 Not Found"} {
		if got := get("http://" + addr + page); !strings.Contains(got, want) {
			t.Errorf("%s: got %.100q, want %s in it", page, got, want)
		}
	}

	other := newPlace(t)
	if out, status := invoke(t, other.standalone("--metrics="+addr)...); status != 1 || !strings.Contains(out, "--metrics: ") || !strings.Contains(out, "address already in use") {
		t.Errorf("an address that is taken: got status %d and %q", status, out)
	}
}
