package secure_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/internal/secure"
	"github.com/understudy-kafka/understudy/internal/secure/securetest"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

func TestParseIdentity_Forms(t *testing.T) {
	ca := securetest.NewCA(t, "ca")
	chain, key := ca.Issue("node", "localhost")
	_, other := ca.Issue("other")
	sealed := securetest.Encrypt(t, key, "open")
	line := func(text string) string { return strings.ReplaceAll(text, "\n", " ") }
	for _, tt := range []struct {
		name, chain, key string
		password         secure.Password
		says             string
	}{
		{"plain", chain, key, "", ""},
		{"in one line", line(chain), line(key), "", ""},
		{"one file", key + chain, key + chain, "", ""},
		{"text around it", "Bag Attributes\n friendlyName: x\n" + chain, "Key Attributes\n" + key + "trailing", "", ""},
		{"encrypted", chain, sealed, "open", ""},
		{"wrong password", chain, sealed, "guess", "does not open"},
		{"password missing", chain, sealed, "", "there is no password"},
		{"password for nothing", chain, key, "x", "not encrypted"},
		{"another's key", chain, other, "", "not that of the first certificate"},
		{"two keys", chain, key + other, "", "2 private keys"},
		{"no key", chain, chain, "", "0 private keys"},
		{"no certificate", key, key, "", "no certificate"},
		{"PKCS#1", chain, "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n", "", "PKCS#8"},
		{"garbage", chain, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "", "private key"},
		{"encrypted garbage", chain, "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n", "x", "PKCS#8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := secure.ParseIdentity(tt.chain, tt.key, tt.password)
			if tt.says == "" {
				if err != nil || len(c.Certificate) != 2 {
					t.Errorf("%v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestParseIdentity_KeysOfOpenSSL: what `openssl pkcs8 -topk8` makes with the password "open".
func TestParseIdentity_KeysOfOpenSSL(t *testing.T) {
	chain, err := os.ReadFile("testdata/certificate.pem")
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("testdata/key-*.pem")
	if len(files) < 4 {
		t.Fatalf("keys %v", files)
	}
	for _, file := range files {
		key, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := secure.ParseIdentity(string(chain), string(key), "open"); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if _, err := secure.ParseIdentity(string(chain), string(key), "shut"); err == nil {
			t.Errorf("%s opens with a wrong password", file)
		}
	}
}

func FuzzParseIdentity(f *testing.F) {
	ca := securetest.NewCA(f, "ca")
	chain, key := ca.Issue("node")
	f.Add(chain, key, "")
	f.Add(chain, securetest.Encrypt(f, key, "x"), "x")
	f.Fuzz(func(t *testing.T, chain, key, password string) {
		id, err := secure.ParseIdentity(chain, key, secure.Password(password))
		if err == nil && (len(id.Certificate) == 0 || id.Leaf == nil || id.PrivateKey == nil) {
			t.Errorf("an identity without its parts: %+v", id)
		}
		if roots, err := secure.ParseRoots(chain); (err == nil) != (roots != nil) {
			t.Errorf("roots %v with error %v", roots, err)
		}
	})
}
