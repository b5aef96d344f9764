package properties

import (
	"github.com/understudy-kafka/understudy/internal/secure"
)

// ReadClient reads how a client shows listeners who it is, from the file that Kafka's tools take as --command-config.
func ReadClient(file string) (secure.Config, error) {
	s, err := readSource(file)
	if err != nil {
		return secure.Config{}, err
	}
	protocol, err := secure.ParseProtocol(s.text("security.protocol", secure.Plaintext.String()))
	if err != nil {
		s.refuse("security.protocol", "is of no use: %v", err)
	}
	c := listenerSource{source: s}.outgoing(protocol, "sasl.mechanism", s.text("sasl.mechanism", "GSSAPI"))
	if s.err != nil {
		return secure.Config{}, s.err
	}
	return c, nil
}
