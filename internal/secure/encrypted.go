package secure

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/asn1"
	"errors"
	"fmt"
	"hash"
	"math/big"
	"unicode/utf16"
)

// Encrypted private keys: PBES2 of RFC 8018, which openssl writes by itself, and pbeWithSHAAnd3-KeyTripleDES-CBC of RFC 7292 (`openssl pkcs8 -v1
// PBE-SHA1-3DES`): Kafka on Java 17 reads only the latter.

type algorithm struct {
	ID         asn1.ObjectIdentifier
	Parameters asn1.RawValue `asn1:"optional"`
}

type encryptedKey struct {
	Algorithm algorithm
	Data      []byte
}

type pbes2Parameters struct {
	Derivation algorithm
	Encryption algorithm
}

type pbkdf2Parameters struct {
	Salt       []byte
	Iterations int
	KeyLength  int       `asn1:"optional"`
	Hash       algorithm `asn1:"optional"`
}

type pkcs12Parameters struct {
	Salt       []byte
	Iterations int
}

var (
	pbes2ID     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	pbkdf2ID    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}
	tripleDESID = asn1.ObjectIdentifier{1, 2, 840, 113549, 3, 7}
	pkcs12DESID = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 1, 3}
)

// maxIterations bounds the work that a key file may ask for: a second or so.
const maxIterations = 10_000_000

var errWrongPassword = errors.New("the password does not open the private key")

func decryptKey(der, password []byte) ([]byte, error) {
	var k encryptedKey
	if err := parseASN1(der, &k); err != nil {
		return nil, err
	}
	switch {
	case k.Algorithm.ID.Equal(pbes2ID):
		return decryptPBES2(k, password)
	case k.Algorithm.ID.Equal(pkcs12DESID):
		return decryptPKCS12(k, password)
	}
	return nil, fmt.Errorf("encrypted private key: the algorithm %v is not supported: PBES2 and PBE-SHA1-3DES are", k.Algorithm.ID)
}

func parseASN1(der []byte, to any) error {
	rest, err := asn1.Unmarshal(der, to)
	if err != nil || len(rest) > 0 {
		return fmt.Errorf("encrypted private key: it is not in the form of PKCS#8 (%w, %d bytes left)", err, len(rest))
	}
	return nil
}

func decryptPBES2(k encryptedKey, password []byte) ([]byte, error) {
	var p pbes2Parameters
	var d pbkdf2Parameters
	if err := parseASN1(k.Algorithm.Parameters.FullBytes, &p); err != nil {
		return nil, err
	}
	if !p.Derivation.ID.Equal(pbkdf2ID) {
		return nil, fmt.Errorf("encrypted private key: key derivation %v is not supported: PBKDF2 is", p.Derivation.ID)
	}
	if err := parseASN1(p.Derivation.Parameters.FullBytes, &d); err != nil {
		return nil, err
	}
	if err := checkIterations(d.Iterations); err != nil {
		return nil, err
	}
	digest, err := digestOf(d.Hash.ID)
	if err != nil {
		return nil, err
	}
	size, block, err := cipherOf(p.Encryption.ID)
	if err != nil {
		return nil, err
	}
	key, err := pbkdf2.Key(digest, string(password), d.Salt, d.Iterations, size)
	if err != nil {
		return nil, fmt.Errorf("encrypted private key: %w", err)
	}
	var iv []byte
	if err := parseASN1(p.Encryption.Parameters.FullBytes, &iv); err != nil {
		return nil, err
	}
	return decryptCBC(block, key, iv, k.Data)
}

func checkIterations(n int) error {
	if n < 1 || n > maxIterations {
		return fmt.Errorf("encrypted private key: %d iterations: want 1 to %d", n, maxIterations)
	}
	return nil
}

// digestOf is the HMAC of PBKDF2; without one it is SHA-1.
func digestOf(id asn1.ObjectIdentifier) (func() hash.Hash, error) {
	if id == nil {
		return sha1.New, nil
	}
	if len(id) == 6 && id[:5].Equal(asn1.ObjectIdentifier{1, 2, 840, 113549, 2}) {
		switch id[5] {
		case 7:
			return sha1.New, nil
		case 9:
			return sha256.New, nil
		case 10:
			return sha512.New384, nil
		case 11:
			return sha512.New, nil
		}
	}
	return nil, fmt.Errorf("encrypted private key: the hash %v is not supported: SHA-1, SHA-256, SHA-384 and SHA-512 are", id)
}

func cipherOf(id asn1.ObjectIdentifier) (size int, block func([]byte) (cipher.Block, error), err error) {
	if id.Equal(tripleDESID) {
		return 24, des.NewTripleDESCipher, nil
	}
	if len(id) == 9 && id[:8].Equal(asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 1}) {
		switch id[8] {
		case 2:
			return 16, aes.NewCipher, nil
		case 22:
			return 24, aes.NewCipher, nil
		case 42:
			return 32, aes.NewCipher, nil
		}
	}
	return 0, nil, fmt.Errorf("encrypted private key: the cipher %v is not supported: AES in CBC mode and triple DES are", id)
}

func decryptCBC(newBlock func([]byte) (cipher.Block, error), key, iv, data []byte) ([]byte, error) {
	block, err := newBlock(key)
	if err != nil {
		return nil, fmt.Errorf("encrypted private key: %w", err)
	}
	size := block.BlockSize()
	if len(iv) != size || len(data) == 0 || len(data)%size != 0 {
		return nil, fmt.Errorf("encrypted private key: %d bytes under an initialization vector of %d", len(data), len(iv))
	}
	plain := make([]byte, len(data))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, data)
	pad := int(plain[len(plain)-1])
	if pad < 1 || pad > size || !bytes.HasSuffix(plain, bytes.Repeat([]byte{byte(pad)}, pad)) {
		return nil, errWrongPassword
	}
	plain = plain[:len(plain)-pad]
	var any asn1.RawValue
	if rest, err := asn1.Unmarshal(plain, &any); err != nil || len(rest) > 0 {
		return nil, errWrongPassword // the padding was right by chance
	}
	return plain, nil
}

func decryptPKCS12(k encryptedKey, password []byte) ([]byte, error) {
	var p pkcs12Parameters
	if err := parseASN1(k.Algorithm.Parameters.FullBytes, &p); err != nil {
		return nil, err
	}
	if err := checkIterations(p.Iterations); err != nil {
		return nil, err
	}
	key := pkcs12Key(password, p.Salt, 1, p.Iterations, 24)
	iv := pkcs12Key(password, p.Salt, 2, p.Iterations, des.BlockSize)
	return decryptCBC(des.NewTripleDESCipher, key, iv, k.Data)
}

// pkcs12Key derives a key (1) or an initialization vector (2): RFC 7292, appendix B.2, with SHA-1.
func pkcs12Key(password, salt []byte, purpose byte, iterations, size int) []byte {
	const u, v = sha1.Size, sha1.BlockSize
	var text []byte // the password in UTF-16 with a zero at its end
	for _, c := range append(utf16.Encode([]rune(string(password))), 0) {
		text = append(text, byte(c>>8), byte(c))
	}
	fill := func(b []byte) []byte {
		if len(b) == 0 {
			return nil
		}
		n := (len(b) + v - 1) / v * v
		return bytes.Repeat(b, n/len(b)+1)[:n]
	}
	input := append(fill(salt), fill(text)...)
	one, modulus := big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), v*8)
	var out []byte
	for {
		sum := sha1.Sum(append(bytes.Repeat([]byte{purpose}, v), input...))
		for range iterations - 1 {
			sum = sha1.Sum(sum[:])
		}
		if out = append(out, sum[:]...); len(out) >= size {
			return out[:size]
		}
		add := new(big.Int).SetBytes(bytes.Repeat(sum[:], v/u+1)[:v])
		add.Add(add, one)
		for at := 0; at < len(input); at += v {
			block := new(big.Int).SetBytes(input[at : at+v])
			block.Add(block, add).Mod(block, modulus).FillBytes(input[at : at+v])
		}
	}
}
