package properties

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/internal/secure"
)

func TestReadClient_ReadsWhatToolsOfKafkaTake(t *testing.T) {
	const jaas = "sasl.jaas.config=" + plainModule + ` required username="ann" password="hush";` + "\n"
	for _, tt := range []struct {
		name, text     string
		want           secure.Protocol
		user           string
		property, says string // of what is refused
	}{
		{name: "nothing", text: ""},
		{name: "plaintext", text: "security.protocol=PLAINTEXT\n"},
		{name: "TLS", text: "security.protocol=ssl\n", want: secure.SSL},
		{name: "SASL", text: "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n" + jaas, want: secure.SASLPlaintext, user: "ann"},
		{name: "both", text: "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n" + jaas, want: secure.SASLSSL, user: "ann"},
		{name: "no such protocol", text: "security.protocol=TLS\n", property: "security.protocol", says: "SASL_SSL"},
		{name: "no mechanism", text: "security.protocol=SASL_SSL\n" + jaas, property: "sasl.mechanism", says: "GSSAPI"},
		{name: "SCRAM", text: "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-256\n" + jaas, property: "sasl.mechanism", says: "only PLAIN"},
		{name: "no user", text: "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n", property: "sasl.jaas.config", says: "is not set"},
		{name: "JKS", text: "security.protocol=SSL\nssl.truststore.location=/x.jks\n", property: "ssl.truststore.type", says: "only PEM"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "client.properties")
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := ReadClient(file)
			if tt.property != "" {
				var e *Error
				if !errors.As(err, &e) || e.File != file || e.Property != tt.property || !strings.Contains(e.Reason, tt.says) || strings.Contains(err.Error(), "hush") {
					t.Errorf("%v, want %s and %q", err, tt.property, tt.says)
				}
				return
			}
			if err != nil || c.Protocol != tt.want || c.SASL.Username != tt.user {
				t.Errorf("%v %q, %v", c.Protocol, c.SASL.Username, err)
			}
		})
	}
	if _, err := ReadClient("/nowhere.properties"); err == nil || !strings.Contains(err.Error(), "/nowhere.properties") {
		t.Errorf("no file: %v", err)
	}
}
