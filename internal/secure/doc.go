// Package secure puts Kafka's security protocols on a connection: TLS with keys in PEM files, client certificates, and SASL PLAIN, as
// the side that dials and as the side that listens.
//
//	conn, err := config.Dial(ctx, "c1:9093")            // connected, encrypted, authenticated: the next frame is the caller's
//	conn, peer, err := config.Accept(ctx, accepted, api) // the same for a connection that was accepted
//	listener := secure.Listen(tcp, config, options)      // a net.Listener of connections that are ready
//
// Nothing that a peer sends makes these calls wait longer than their context allows, or keep more than a small frame in memory. Errors
// name the peer and what it did; they repeat no password.
package secure
