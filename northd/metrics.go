package northd

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// stepInputs is the step of taking in what the databases have told.
const stepInputs = "inputs"

// stepOf are the steps of an edit by the stopwatches that time them.
var stepOf = map[string]string{
	deriveWatch: "derive", compareWatch: "compare", sbCommitWatch: "southbound", nbCommitWatch: "northbound",
}

// timers are the latencies of a Daemon, in seconds.
type timers struct {
	steps *prometheus.HistogramVec
	edit  prometheus.Histogram
}

func newTimers() timers {
	// From 0.1 ms to 100 s.
	buckets := prometheus.ExponentialBucketsRange(0.0001, 100, 19)
	return timers{
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "northwall_step_seconds", Buckets: buckets,
			Help: "Time that one step took of carrying changes: inputs, derive, compare (here), southbound, northbound (a transaction there and back).",
		}, []string{"step"}),
		edit: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "northwall_edit_seconds", Buckets: buckets,
			Help: "Time from the arrival of northbound changes until the southbound database has what follows from them.",
		}),
	}
}

// since notes what a step took that began at a time.
func (t timers) since(step string, began time.Time) {
	t.steps.WithLabelValues(step).Observe(time.Since(began).Seconds())
}

// metric is one of those that a Daemon reports of its counters.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func newMetric(kind prometheus.ValueType, name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc("northwall_"+name, help, labels, nil), kind}
}

var (
	metricActive       = newMetric(prometheus.GaugeValue, "active", "1 if this daemon has the lock and writes, 0 if it stands by or is paused.")
	metricConnected    = newMetric(prometheus.GaugeValue, "connected", "1 if the database is connected and its contents are known.", "database")
	metricConnections  = newMetric(prometheus.CounterValue, "connections_total", "Connections made to the database; all but the first are for one that was lost.", "database")
	metricReceived     = newMetric(prometheus.CounterValue, "transactions_received_total", "Transactions of anybody that the database has told of: northbound, the edits.", "database")
	metricBatches      = newMetric(prometheus.CounterValue, "batches_total", "Batches that those transactions were taken in.", "database")
	metricQueue        = newMetric(prometheus.GaugeValue, "queue_transactions", "Transactions that the database has told of and that are not taken yet.", "database")
	metricSent         = newMetric(prometheus.CounterValue, "transactions_sent_total", "Transactions sent to the database: round trips.", "database")
	metricRows         = newMetric(prometheus.CounterValue, "rows_written_total", "Rows that transactions inserted, changed or deleted.", "database", "table")
	metricErrors       = newMetric(prometheus.CounterValue, "errors_total", "What failed: derivation, southbound_transaction, northbound_transaction.", "kind")
	metricProblems     = newMetric(prometheus.GaugeValue, "problems", "Northbound rows with something wrong, as the log has named them.")
	metricFlows        = newMetric(prometheus.GaugeValue, "flows", "Logical flows.")
	metricHeld         = newMetric(prometheus.GaugeValue, "derivations_held", "Derivations alive.", "derivation")
	metricRun          = newMetric(prometheus.CounterValue, "derivations_run_total", "Derivations run.", "derivation")
	metricUnchanged    = newMetric(prometheus.CounterValue, "derivations_unchanged_total", "Facts that came out equal, so that nothing had to follow.")
	metricFailing      = newMetric(prometheus.GaugeValue, "derivations_failing", "Derivations whose last run failed: their last good result is in force.")
	metricRecomputes   = newMetric(prometheus.CounterValue, "recomputes_total", "Full recomputes.")
	metricsOfCounters  = []metric{metricActive, metricConnected, metricConnections, metricReceived, metricBatches, metricQueue, metricSent, metricRows, metricErrors, metricProblems, metricFlows, metricHeld, metricRun, metricUnchanged, metricFailing, metricRecomputes}
	collectionPatience = 5 * time.Second
)

// Describe implements prometheus.Collector.
func (d *Daemon) Describe(to chan<- *prometheus.Desc) {
	for _, m := range metricsOfCounters {
		to <- m.desc
	}
	d.timers.steps.Describe(to)
	d.timers.edit.Describe(to)
}

// Collect implements prometheus.Collector. While the daemon works on something for
// longer than a scrape should wait, only latencies are collected.
func (d *Daemon) Collect(to chan<- prometheus.Metric) {
	d.timers.steps.Collect(to)
	d.timers.edit.Collect(to)
	ctx, cancel := context.WithTimeout(context.Background(), collectionPatience)
	defer cancel()
	_ = d.do(ctx, func() { d.collect(to) }) // nothing to tell of a daemon that is busy, or has ended
}

// collect reports the counters, on the goroutine of Run.
func (d *Daemon) collect(to chan<- prometheus.Metric) {
	emit := func(m metric, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, v, labels...)
	}
	st, c := d.Status(), &d.counters
	emit(metricActive, boolToFloat(st.Active))
	for _, db := range []struct {
		name  string
		conn  Transactor
		epoch uint64
		up    bool
		of    *databaseCounters
	}{
		{"northbound", d.nb, st.NB.Epoch, st.NB.Connected, &c.NB},
		{"southbound", d.sb, st.SB.Epoch, st.SB.Connected, &c.SB},
	} {
		emit(metricConnected, boolToFloat(db.up), db.name)
		emit(metricConnections, float64(db.epoch), db.name)
		emit(metricReceived, float64(db.of.Received), db.name)
		emit(metricBatches, float64(db.of.Batches), db.name)
		emit(metricSent, float64(db.of.Sent), db.name)
		emit(metricErrors, float64(db.of.Failures), db.name+"_transaction")
		for table, n := range db.of.Rows {
			emit(metricRows, float64(n), db.name, table)
		}
		if q, ok := db.conn.(interface{ Waiting() int }); ok {
			emit(metricQueue, float64(q.Waiting()), db.name)
		}
	}
	stats, levels := d.n.Stats()
	emit(metricErrors, float64(d.n.failures), "derivation")
	emit(metricProblems, float64(len(d.n.Problems())))
	emit(metricFlows, float64(d.n.FlowCount()))
	emit(metricUnchanged, float64(stats.Unchanged))
	emit(metricFailing, float64(stats.Failing))
	emit(metricRecomputes, float64(stats.Recomputes))
	held, ran := map[string]float64{}, map[string]float64{} // families may share a name
	for _, l := range levels {
		held[l.Name] += float64(l.Held)
		ran[l.Name] += float64(l.Ran)
	}
	for name := range held {
		emit(metricHeld, held[name], name)
		emit(metricRun, ran[name], name)
	}
}

func boolToFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
