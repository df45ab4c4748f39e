// Package seal closes a game's state to whoever carries it: a sealed text can
// neither be read nor made nor changed without a key.
//
// It owns the keys and the form of a sealed text, and keeps nothing else. Every
// text is sealed under a key of its own, derived with a random salt, so that there
// is no number of texts after which a key wears out. What a seal cannot do is to
// say when it was made: an older text opens as well as the last one, and players
// who take a move back rely on it.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
)

const (
	// version begins every sealed text. Another form of text gets another one.
	version = "k1."
	// purpose goes into every derived key, so that a text means nothing to another
	// product, for another purpose, or in another version, even under the same key.
	purpose = "kiribashiri state " + version

	keyBytes  = 32 // of an operator's key and of a derived one: AES-256
	saltBytes = 16
	gcmBytes  = 12 + 16 // nonce and tag

	// maxKeys bounds what a text that was sealed by nobody costs: each key is tried.
	maxKeys = 8
)

// ErrBroken says that a text was not sealed with any of the keys, or was changed.
var ErrBroken = errors.New("not sealed here")

// A Box seals and opens. It never changes, and any number of goroutines may use it.
type Box struct {
	keys [][]byte // the first seals, all open
}

// New returns a box with the keys of a file: one a line, 32 bytes in base64. Empty
// lines do not count. An error names the line and never shows it.
func New(file []byte) (*Box, error) {
	b := new(Box)
	number := 0
	for line := range bytes.Lines(file) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		key, err := base64.StdEncoding.Strict().AppendDecode(nil, line)
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d is not base64", number)
		case len(key) != keyBytes:
			return nil, fmt.Errorf("line %d has %d bytes, want %d in base64", number, len(key), keyBytes)
		case len(b.keys) == maxKeys:
			return nil, fmt.Errorf("line %d is one key too many, there may be %d", number, maxKeys)
		}
		for _, other := range b.keys {
			if bytes.Equal(key, other) {
				return nil, fmt.Errorf("line %d has a key that stands further up", number)
			}
		}
		b.keys = append(b.keys, key)
	}
	if len(b.keys) == 0 {
		return nil, errors.New("no key in it")
	}
	return b, nil
}

// Size returns how long the sealed text of so many bytes is.
func Size(plain int) int {
	return len(version) + base64.RawURLEncoding.EncodedLen(saltBytes+gcmBytes+plain)
}

// AppendSealed appends the sealed text of plain: letters, digits, and "._-".
func (b *Box) AppendSealed(dst, plain []byte) []byte {
	sealed := make([]byte, saltBytes, saltBytes+gcmBytes+len(plain))
	rand.Read(sealed)
	sealed = derive(b.keys[0], sealed).Seal(sealed, nil, plain, nil)
	return base64.RawURLEncoding.AppendEncode(append(dst, version...), sealed)
}

// Open returns what a text was sealed over, or [ErrBroken].
func (b *Box) Open(text []byte) ([]byte, error) {
	encoded, ok := bytes.CutPrefix(text, []byte(version))
	if !ok || bytes.ContainsAny(encoded, "\r\n") { // which decoding would pass over
		return nil, ErrBroken
	}
	sealed, err := base64.RawURLEncoding.Strict().AppendDecode(nil, encoded)
	if err != nil || len(sealed) < saltBytes+gcmBytes {
		return nil, ErrBroken
	}
	salt, rest := sealed[:saltBytes], sealed[saltBytes:]
	for _, key := range b.keys {
		if plain, err := derive(key, salt).Open(nil, nil, rest, nil); err == nil {
			return plain, nil
		}
	}
	return nil, ErrBroken
}

// derive returns the cipher of one text (RFC 5869, then AES-256-GCM with a random
// nonce).
func derive(key, salt []byte) cipher.AEAD {
	derived, err := hkdf.Key(sha256.New, key, salt, purpose, keyBytes)
	if err != nil {
		panic(err) // the length is a constant
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		panic(err) // the same
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // the block is AES's
	}
	return aead
}
