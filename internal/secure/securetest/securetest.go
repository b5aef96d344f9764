// Package securetest makes certificates and keys for tests.
package securetest

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// CA issues certificates. Its key lives only as long as the test.
type CA struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	next int64
}

// NewCA makes an authority.
func NewCA(t testing.TB, name string) *CA {
	t.Helper()
	ca := &CA{t: t, key: newKey(t), next: 2}
	template := template(1, name)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	der := ca.sign(template, template, &ca.key.PublicKey)
	ca.cert, _ = x509.ParseCertificate(der)
	return ca
}

// Certificate is the authority's own, in PEM.
func (ca *CA) Certificate() string { return encode("CERTIFICATE", ca.cert.Raw) }

// Issue makes a certificate for a name and for the given hosts (IP addresses or DNS names), with its key in PKCS#8.
func (ca *CA) Issue(name string, hosts ...string) (chain, key string) {
	ca.t.Helper()
	k := newKey(ca.t)
	template := template(ca.next, name)
	ca.next++
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der := ca.sign(template, ca.cert, &k.PublicKey)
	return encode("CERTIFICATE", der) + ca.Certificate(), encode("PRIVATE KEY", pkcs8(ca.t, k))
}

func (ca *CA) sign(template, parent *x509.Certificate, public crypto.PublicKey) []byte {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, ca.key)
	if err != nil {
		ca.t.Fatal(err)
	}
	return der
}

func template(serial int64, name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name, Organization: []string{"understudy"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func pkcs8(t testing.TB, key any) []byte {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// Encrypt puts a PKCS#8 key under a password, by PBES2 with PBKDF2-SHA256 and AES-256-CBC.
func Encrypt(t testing.TB, key, password string) string {
	t.Helper()
	block, _ := pem.Decode([]byte(key))
	salt, iv := make([]byte, 16), make([]byte, aes.BlockSize)
	_, _ = rand.Read(salt)
	_, _ = rand.Read(iv)
	const iterations = 2048
	secret, err := pbkdf2.Key(sha256.New, password, salt, iterations, 32)
	if err != nil {
		t.Fatal(err)
	}
	c, err := aes.NewCipher(secret)
	if err != nil {
		t.Fatal(err)
	}
	pad := aes.BlockSize - len(block.Bytes)%aes.BlockSize
	data := block.Bytes
	for range pad {
		data = append(data, byte(pad))
	}
	cipher.NewCBCEncrypter(c, iv).CryptBlocks(data, data)
	id := func(n ...int) asn1.ObjectIdentifier { return n }
	type algorithm struct {
		ID         asn1.ObjectIdentifier
		Parameters any
	}
	type derivation struct {
		Salt       []byte
		Iterations int
		Hash       algorithm
	}
	der, err := asn1.Marshal(struct {
		Algorithm algorithm
		Data      []byte
	}{algorithm{id(1, 2, 840, 113549, 1, 5, 13), struct{ Derivation, Encryption algorithm }{
		algorithm{id(1, 2, 840, 113549, 1, 5, 12), derivation{salt, iterations, algorithm{id(1, 2, 840, 113549, 2, 9), asn1.NullRawValue}}},
		algorithm{id(2, 16, 840, 1, 101, 3, 4, 1, 42), iv},
	}}, data})
	if err != nil {
		t.Fatal(err)
	}
	return encode("ENCRYPTED PRIVATE KEY", der)
}
