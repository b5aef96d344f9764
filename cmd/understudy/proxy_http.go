package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"github.com/understudy-kafka/understudy/internal/build"
	"github.com/understudy-kafka/understudy/proxy"
	"github.com/understudy-kafka/understudy/wire"
)

// statsSource is what the metrics are read from at each scrape.
type statsSource interface{ Stats() proxy.Stats }

// serveProxy serves the proxy's metrics and health.
func serveProxy(addr string, source statsSource, log zerolog.Logger) (shut func(), at string, err error) {
	return serveHTTP(addr, proxyCollector{source}, func(w http.ResponseWriter, _ *http.Request) { writeHealth(w, source.Stats()) }, log)
}

// serveHTTP serves /metrics and /healthz until shut is called.
func serveHTTP(addr string, metrics prometheus.Collector, health http.HandlerFunc, log zerolog.Logger) (shut func(), at string, err error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, "", fmt.Errorf("serve http at %s: %w", addr, err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", health)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error().Err(err).Str("address", addr).Msg("http server ended")
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
		<-done
	}, ln.Addr().String(), nil
}

// writeHealth tells whether the proxy forwards. A failing recording or checker is told, and does not make the proxy
// unhealthy: an orchestrator that restarted it for that would cut the quorum's connections.
func writeHealth(w http.ResponseWriter, s proxy.Stats) {
	type sink struct {
		Lost      uint64 `json:"lostFrames"`
		Errors    uint64 `json:"errors"`
		LastError string `json:"lastError,omitempty"`
		State     string `json:"state,omitempty"`
	}
	sinks := map[string]sink{}
	for _, k := range s.Sinks {
		sinks[k.Name] = sink{k.Lost, k.Errors, k.LastError, k.State}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"status": "ok", "version": build.Version, "connections": s.Open, "gaps": s.Gaps, "sinks": sinks,
	})
}

// proxyCollector turns a snapshot of the proxy's counters into metrics.
type proxyCollector struct{ source statsSource }

func metric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("understudy_proxy_"+name, help, labels, nil)
}

var (
	descOpen       = metric("connections", "Connections being relayed.")
	descOpened     = metric("connections_total", "Connections relayed since the start.")
	descReset      = metric("connection_resets_total", "Connections that ended in a reset.")
	descDialErrors = metric("dial_errors_total", "Connections closed at once because the upstream did not answer.")
	descBytes      = metric("bytes_total", "Bytes forwarded.", "direction")
	descFrames     = metric("frames_total", "Kafka frames forwarded.", "direction")
	descRequests   = metric("requests_total", "Requests forwarded, by api key.", "key")
	descGaps       = metric("tap_gaps_total", "Times that the recorder was so far behind that frames were left out.")
	descGapFrames  = metric("tap_gap_frames_total", "Frames left out because the recorder was behind.")
	descOpaque     = metric("opaque_directions_total", "Directions of connections that were not Kafka's protocol.")
	descUnrecorded = metric("unrecorded_connections_total", "Connections that came and went while the recorder was behind.")
	descFaults     = metric("faults_total", "Frames that a fault rule took.")
	descBacklog    = metric("tap_backlog_bytes", "Bytes that the recorder has not looked at yet.")
	descLatency    = metric("forward_seconds", "Time from reading bytes to having written them on.")
	descSinkFrames = metric("sink_frames_total", "Frames given to a sink.", "sink")
	descSinkLost   = metric("sink_lost_frames_total", "Frames that a sink could not take.", "sink")
	descSinkErrors = metric("sink_errors_total", "Failures of a sink.", "sink")
	descEvents     = metric("checker_events_total", "What the checker has told, by kind: leader, finding, …", "event")
	descSinkUp     = metric("sink_up", "1 if the sink works: the recording can be written, the checker runs.", "sink")
)

// Describe implements prometheus.Collector.
func (c proxyCollector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c proxyCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.source.Stats()
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	gauge(descOpen, s.Open)
	gauge(descBacklog, s.Backlog)
	count(descOpened, s.Opened)
	count(descReset, s.Reset)
	count(descDialErrors, s.DialError)
	count(descBytes, s.BytesRequest, "request")
	count(descBytes, s.BytesResponse, "response")
	count(descFrames, s.FramesRequest, "request")
	count(descFrames, s.FramesResponse, "response")
	count(descGaps, s.Gaps)
	count(descGapFrames, s.GapFrames)
	count(descOpaque, s.Opaque)
	count(descUnrecorded, s.Unrecorded)
	count(descFaults, s.Faults)
	for key, n := range s.Requests {
		count(descRequests, n, keyLabel(key))
	}
	for _, k := range s.Sinks {
		count(descSinkFrames, k.Frames, k.Name)
		count(descSinkLost, k.Lost, k.Name)
		count(descSinkErrors, k.Errors, k.Name)
		up := uint64(0)
		if k.Up {
			up = 1
		}
		gauge(descSinkUp, up, k.Name)
		for kind, n := range k.Events {
			count(descEvents, n, kind)
		}
	}
	ch <- latencyHistogram(&s)
}

func keyLabel(key int16) string {
	if key == proxy.OtherKeys {
		return "other"
	}
	return wire.Name(key)
}

func latencyHistogram(s *proxy.Stats) prometheus.Metric {
	buckets := map[float64]uint64{}
	total := uint64(0)
	for i, n := range s.LatencyCounts {
		total += n
		if i < len(s.LatencyCounts)-1 {
			buckets[proxy.LatencyBound(i).Seconds()] = total
		}
	}
	return prometheus.MustNewConstHistogram(descLatency, total, s.LatencySum.Seconds(), buckets)
}
