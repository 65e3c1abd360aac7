package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metricsServer serves metrics, and profiles of the running program.
type metricsServer struct {
	http.Server
	ended chan struct{}
}

// serveMetrics serves at HOST:PORT what the collector reports, and what the Go
// runtime knows of the process.
func serveMetrics(addr string, c prometheus.Collector) (*metricsServer, error) {
	registry := prometheus.NewRegistry()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "northwall_build_info", Help: "1, with the program's version as a label.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	registry.MustRegister(c, build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "northwalld %s\n\n/metrics: for Prometheus\n/debug/pprof/: for go tool pprof\n", version)
	})
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &metricsServer{http.Server{Addr: l.Addr().String(), Handler: mux, ReadHeaderTimeout: 10 * time.Second}, make(chan struct{})}
	go func() {
		defer close(s.ended)
		_ = s.Serve(l) // until it is stopped
	}()
	return s, nil
}

// stop ends the server, with little patience for requests that are being
// answered.
func (s *metricsServer) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.Shutdown(ctx) != nil {
		s.Close()
	}
	<-s.ended
}
