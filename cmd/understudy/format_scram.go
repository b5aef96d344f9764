package main

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"hash"
	"math/big"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/wire"
)

// scramSince is the first metadata.version with credentials in the log: 3.5-IV2 (KIP-900).
const scramSince = 11

const minIterations, maxIterations = 4096, 16384

// scramMechanism is one that Kafka has (ScramMechanism).
type scramMechanism struct {
	id   int8
	hash func() hash.Hash
}

var scramMechanisms = map[string]scramMechanism{"SCRAM-SHA-256": {1, sha256.New}, "SCRAM-SHA-512": {2, sha512.New}}

// scramRecords makes a UserScramCredential record of each argument, in the order given (Kafka: ScramParser).
func scramRecords(given []string, version compat.MetadataVersion) (records [][]byte, err error) {
	if len(given) > 0 && version.Level < scramSince {
		return nil, usageError("--add-scram: credentials need --release-version 3.5-IV2 or newer, not %s", version.Name)
	}
	for i, text := range given {
		c, err := parseScram(text)
		if err != nil { // without the text, which may hold a password
			return nil, usageError("--add-scram, number %d: %w", i+1, err)
		}
		records = append(records, c.Record())
	}
	return records, nil
}

// parseScram reads MECHANISM=[name=…,password=…,…].
func parseScram(text string) (*wire.ScramCredential, error) {
	name, list, _ := strings.Cut(strings.TrimSpace(text), "=")
	mechanism, ok := scramMechanisms[name]
	if !ok {
		return nil, fmt.Errorf("mechanism %q: want SCRAM-SHA-256=[…] or SCRAM-SHA-512=[…]", name)
	}
	inner, opened := strings.CutPrefix(list, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !opened || !closed {
		return nil, fmt.Errorf("want [ and ] around the properties of %s", name)
	}
	p, err := scramProperties(inner)
	if err != nil {
		return nil, err
	}
	c := &wire.ScramCredential{User: p["name"], Mechanism: mechanism.id}
	if c.Iterations, err = scramIterations(p["iterations"]); err != nil {
		return nil, err
	}
	salted, err := saltedPassword(p, mechanism.hash, c)
	if err != nil {
		return nil, err
	}
	mac := func(text string) []byte {
		h := hmac.New(mechanism.hash, salted)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	stored := mechanism.hash()
	stored.Write(mac("Client Key"))
	c.StoredKey, c.ServerKey = stored.Sum(nil), mac("Server Key")
	return c, nil
}

// scramProperties reads KEY=VALUE,… where a value may stand in double quotes. Spaces count, as in Kafka.
func scramProperties(text string) (map[string]string, error) {
	p := map[string]string{}
	for i, part := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("property %d has no equals sign", i+1)
		}
		if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		switch key {
		case "name", "password", "saltedpassword", "salt", "iterations":
		default:
			return nil, fmt.Errorf("unknown property %d: known are name, password, saltedpassword, salt, iterations", i+1)
		}
		if _, twice := p[key]; twice {
			return nil, fmt.Errorf("%s is given twice", key)
		}
		p[key] = value
	}
	if p["name"] == "" {
		return nil, fmt.Errorf("name is missing")
	}
	return p, nil
}

func scramIterations(text string) (int32, error) {
	if text == "" {
		return minIterations, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < minIterations || n > maxIterations {
		return 0, fmt.Errorf("iterations %q: want a number from %d to %d", text, minIterations, maxIterations)
	}
	return int32(n), nil
}

// saltedPassword takes it from the properties, or derives it; it sets the salt.
func saltedPassword(p map[string]string, h func() hash.Hash, c *wire.ScramCredential) (salted []byte, err error) {
	password, plain := p["password"]
	given, ready := p["saltedpassword"]
	salt, withSalt := p["salt"]
	switch {
	case plain == ready:
		return nil, fmt.Errorf("want one of password and saltedpassword")
	case ready && !withSalt:
		return nil, fmt.Errorf("saltedpassword needs the salt that it was made with")
	case withSalt:
		if c.Salt, err = base64.StdEncoding.DecodeString(salt); err != nil {
			return nil, fmt.Errorf("salt is no base64: %w", err)
		}
	default:
		c.Salt = randomSalt()
	}
	if ready {
		if salted, err = base64.StdEncoding.DecodeString(given); err != nil {
			return nil, fmt.Errorf("saltedpassword is no base64: %w", err)
		}
		return salted, nil
	}
	return pbkdf2.Key(h, password, c.Salt, int(c.Iterations), h().Size())
}

// randomSalt is 130 random bits as letters and digits, as Kafka's tool makes it (ScramFormatter.secureRandomString).
func randomSalt() []byte {
	var b [17]byte
	_, _ = rand.Read(b[:]) // never fails
	b[0] &= 3
	return []byte(new(big.Int).SetBytes(b[:]).Text(36))
}
