package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/understudy-kafka/understudy/proxy"
)

// faultControl is what the control API drives.
type faultControl interface {
	AddFault(*proxy.Rule) (proxy.FaultRule, error)
	Faults() ([]proxy.FaultRule, error)
	RemoveFault(id int) (int, error)
}

const controlHelp = `With --control the rules can be changed while the proxy runs, by HTTP on a Unix socket or a loopback address:
  GET /faults, POST /faults (one rule a line), DELETE /faults/ID, DELETE /faults (heal: take out all of them)`

// maxControlBody bounds what is read of a request, bytes.
const maxControlBody = 64 << 10

// listenControl listens where the control API is wanted. Whoever reaches it can disturb the quorum, so only this machine may.
func listenControl(at string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(at, "unix:"); ok && path != "" {
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
			if conn, err := net.Dial("unix", path); err == nil {
				_ = conn.Close()
				return nil, &exitError{exitRuntime, fmt.Errorf("control API at %s: somebody listens there already", at)}
			}
			_ = os.Remove(path) // left by a proxy that did not end in order
		}
		ln, err := net.Listen("unix", path)
		if err == nil {
			err = os.Chmod(path, 0o600)
		}
		if err != nil {
			return nil, &exitError{exitRuntime, fmt.Errorf("control API: %w", err)}
		}
		return ln, nil
	}
	host, _, err := net.SplitHostPort(at)
	addr, bad := netip.ParseAddr(host)
	if err != nil || bad != nil || !addr.IsLoopback() {
		return nil, usageError("--control %q: want unix:PATH or a loopback address such as 127.0.0.1:9645", at)
	}
	ln, err := net.Listen("tcp", at)
	if err != nil {
		return nil, &exitError{exitRuntime, fmt.Errorf("control API: %w", err)}
	}
	return ln, nil
}

// serveControl serves the control API until shut is called.
func serveControl(ln net.Listener, c faultControl, log zerolog.Logger) (shut func()) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /faults", func(w http.ResponseWriter, _ *http.Request) {
		list, err := c.Faults()
		answerControl(w, list, err)
	})
	mux.HandleFunc("POST /faults", func(w http.ResponseWriter, r *http.Request) { addFaults(w, r, c, log) })
	remove := func(w http.ResponseWriter, r *http.Request) {
		id, err := -1, error(nil)
		if text := r.PathValue("id"); text != "" {
			if id, err = strconv.Atoi(text); err != nil || id < 0 {
				http.Error(w, fmt.Sprintf("rule %q: want its number", text), http.StatusBadRequest)
				return
			}
		}
		removed, err := c.RemoveFault(id)
		if err == nil && removed == 0 && id >= 0 {
			http.Error(w, fmt.Sprintf("no rule has number %d", id), http.StatusNotFound)
			return
		}
		if removed > 0 {
			log.Info().Int("rules", removed).Msg("fault rules taken out")
		}
		answerControl(w, map[string]int{"removed": removed}, err)
	}
	mux.HandleFunc("DELETE /faults/{id}", remove)
	mux.HandleFunc("DELETE /faults", remove)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error().Err(err).Msg("control API ended")
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
		<-done
	}
}

// addFaults puts the rules of a request in force, all of them or none.
func addFaults(w http.ResponseWriter, r *http.Request, c faultControl, log zerolog.Logger) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxControlBody))
	if err != nil {
		http.Error(w, "read the rules: "+err.Error(), http.StatusBadRequest)
		return
	}
	var rules []*proxy.Rule
	for line := range strings.Lines(string(body)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		rule, err := proxy.ParseRule(line)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		rules = append(rules, rule)
	}
	if len(rules) == 0 {
		http.Error(w, "no rule: want one a line, such as: drop Vote 3->1 nth 2", http.StatusBadRequest)
		return
	}
	var added []proxy.FaultRule
	for _, rule := range rules {
		a, err := c.AddFault(rule)
		if err != nil {
			answerControl(w, nil, err)
			return
		}
		log.Info().Int("id", a.ID).Str("rule", a.Text).Msg("fault rule in force")
		added = append(added, a)
	}
	answerControl(w, added, nil)
}

func answerControl(w http.ResponseWriter, v any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that has gone needs no answer
}
