package secure

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// ParseIdentity makes a certificate of PEM texts: a chain, the node's own certificate first, and one private key, in PKCS#8 form as
// Kafka wants it. The password is that of an encrypted key.
func ParseIdentity(chain, key string, password Password) (*tls.Certificate, error) {
	c := &tls.Certificate{}
	for _, block := range blocks(chain, "CERTIFICATE") {
		c.Certificate = append(c.Certificate, block.Bytes)
	}
	if len(c.Certificate) == 0 {
		return nil, errors.New("no certificate in it")
	}
	leaf, err := x509.ParseCertificate(c.Certificate[0])
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	keys := blocks(key, "PRIVATE KEY")
	if len(keys) != 1 {
		return nil, fmt.Errorf("%d private keys in it: want one", len(keys))
	}
	if c.PrivateKey, err = parseKey(keys[0], password); err != nil {
		return nil, err
	}
	c.Leaf = leaf
	if !fits(c) {
		return nil, errors.New("the private key is not that of the first certificate")
	}
	return c, nil
}

func parseKey(block *pem.Block, password Password) (any, error) {
	der := block.Bytes
	switch {
	case block.Type == "ENCRYPTED PRIVATE KEY":
		if password == "" {
			return nil, errors.New("the private key is encrypted, but there is no password for it")
		}
		var err error
		if der, err = decryptKey(der, []byte(password)); err != nil {
			return nil, err
		}
	case block.Type != "PRIVATE KEY":
		return nil, fmt.Errorf("the private key is of the form %q: Kafka wants PKCS#8, which `openssl pkcs8 -topk8` makes", block.Type)
	case password != "":
		return nil, errors.New("there is a password for a private key that is not encrypted")
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	return key, nil
}

// fits tells whether key and certificate belong together.
func fits(c *tls.Certificate) bool {
	signer, ok := c.PrivateKey.(crypto.Signer)
	if !ok {
		return false
	}
	public, ok := signer.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(c.Leaf.PublicKey)
}

// ParseRoots makes a trust store of PEM certificates.
func ParseRoots(text string) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	found := 0
	for _, block := range blocks(text, "CERTIFICATE") {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", found+1, err)
		}
		pool.AddCert(c)
		found++
	}
	if found == 0 {
		return nil, errors.New("no certificate in it")
	}
	return pool, nil
}

// blocks are the PEM blocks whose type ends with kind.
func blocks(text, kind string) (all []*pem.Block) {
	rest := []byte(strings.TrimSpace(oneLine(text)) + "\n")
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return all
		}
		if strings.HasSuffix(block.Type, kind) {
			all = append(all, block)
		}
	}
}

// oneLine puts line breaks around the frames of PEM blocks which stand in one line of a property file, as Kafka takes them.
func oneLine(text string) string {
	if strings.Contains(text, "\n") {
		return text
	}
	var b strings.Builder
	for {
		begin := strings.Index(text, "-----BEGIN ")
		if begin < 0 {
			return b.String()
		}
		text = text[begin+len("-----BEGIN "):]
		kind, rest, ok := strings.Cut(text, "-----")
		body, after, ended := strings.Cut(rest, "-----END "+kind+"-----")
		if !ok || !ended {
			return b.String()
		}
		b.WriteString("-----BEGIN " + kind + "-----\n")
		for _, line := range strings.Fields(body) {
			b.WriteString(line + "\n")
		}
		b.WriteString("-----END " + kind + "-----\n")
		text = after
	}
}
