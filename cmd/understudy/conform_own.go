package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/understudy-kafka/understudy/compat/conform"
	"github.com/understudy-kafka/understudy/internal/secure"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller/properties"
)

// conformOwn plays the other voters of the target's quorum.
func conformOwn(cmd *cobra.Command, o conform.Options, f *conformFlags) (*conform.Report, error) {
	own := conform.OwnOptions{Options: o, Voters: map[kraft.NodeID]string{}, Directories: map[kraft.NodeID]kraft.DirectoryID{}}
	for _, text := range f.voters {
		if err := addOwnVoter(&own, text); err != nil {
			return nil, err
		}
	}
	if len(own.Voters) != 2 || f.node < 0 || f.cluster == "" {
		return nil, usageError("--own-quorum needs --node-id, --cluster-id and two --voters besides the target")
	}
	if n := len(own.Directories); n != 0 && n != 2 {
		return nil, usageError("--voters: give the directory ids of both voters, for a dynamic quorum, or of none")
	}
	var refused atomic.Pointer[error]
	if f.security != "" {
		guard, err := listeningGuard(f.security)
		if err != nil {
			return nil, err
		}
		own.Guard = func(l net.Listener) net.Listener {
			return secure.Listen(l, guard, secure.ListenOptions{Refused: func(err error) { refused.Store(&err) }})
		}
	}
	report, err := conform.RunOwn(cmd.Context(), own)
	if why := refused.Load(); err != nil && why != nil {
		err = fmt.Errorf("%w (a connection to the suite's own listeners failed: %w)", err, *why)
	}
	return report, err
}

// addOwnVoter reads a voter as controller.quorum.voters has it, or with a directory id as kafka-storage's --initial-controllers has it. The
// target may be among them.
func addOwnVoter(own *conform.OwnOptions, text string) error {
	at := strings.IndexAny(text, "@=")
	if at < 0 {
		return usageError("--voters: %q: want ID@HOST:PORT, with :DIRECTORY-ID in a dynamic quorum", text)
	}
	number, address := text[:at], text[at+1:]
	id, err := strconv.ParseInt(number, 10, 32)
	if err != nil || id < 0 {
		return usageError("--voters: %q is no node id", number)
	}
	node := kraft.NodeID(id)
	if node == own.NodeID {
		return nil
	}
	if _, twice := own.Voters[node]; twice {
		return usageError("--voters: node %s is there twice", node)
	}
	if colon := strings.LastIndexByte(address, ':'); colon >= 0 {
		if directory, err := kraft.ParseDirectoryID(address[colon+1:]); err == nil {
			own.Directories[node], address = directory, address[:colon]
		}
	}
	if !isAddress(address) {
		return usageError("--voters: %q: want ID@HOST:PORT, with :DIRECTORY-ID of 22 letters in a dynamic quorum", text)
	}
	own.Voters[node] = address
	return nil
}

// listeningGuard is how the suite's voters guard their listeners: with the certificate that they show as clients, and for whom they are
// themselves, since controllers share one user.
func listeningGuard(file string) (secure.Config, error) {
	guard, err := properties.ReadClient(file)
	if err != nil {
		return guard, usageError("--command-config: %w", err)
	}
	if guard.Protocol.TLS() {
		if guard.TLS.Certificate == nil {
			return guard, usageError("--command-config: --own-quorum listens by %s, which needs a certificate: ssl.keystore.location", guard.Protocol)
		}
		guard.TLS.ClientAuth = tls.VerifyClientCertIfGiven
	}
	if guard.Protocol.SASL() {
		guard.SASL.Users = map[string]secure.Password{guard.SASL.Username: guard.SASL.Password}
	}
	return guard, nil
}

// isAddress reports whether the text is HOST:PORT.
func isAddress(text string) bool {
	host, port, err := net.SplitHostPort(text)
	n, bad := strconv.ParseUint(port, 10, 16)
	return err == nil && bad == nil && n != 0 && host != "" && !strings.ContainsRune(host, ' ')
}
