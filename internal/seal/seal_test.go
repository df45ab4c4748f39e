package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// key returns the line of a key that is n throughout.
func key(n byte) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{n}, keyBytes))
}

func box(t testing.TB, lines ...string) *Box {
	t.Helper()
	b, err := New([]byte(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *Box) seal(plain string) string { return string(b.AppendSealed(nil, []byte(plain))) }

// opens claims that a text opens, and to what.
func opens(t *testing.T, b *Box, text, want string) {
	t.Helper()
	if got, err := b.Open([]byte(text)); err != nil || string(got) != want {
		t.Errorf("opened: %q, %v; want %q", got, err, want)
	}
}

func stays(t *testing.T, b *Box, what, text string) {
	t.Helper()
	if got, err := b.Open([]byte(text)); err != ErrBroken {
		t.Errorf("%s: opened to %q, %v", what, got, err)
	}
}

func TestSealed(t *testing.T) {
	b := box(t, key(1))
	for _, plain := range []string{"", `""`, `{"place":"港"}`, strings.Repeat("x", 100_000)} {
		text := b.seal(plain)
		opens(t, b, text, plain)
		if len(text) != Size(len(plain)) {
			t.Errorf("%d bytes became %d, and Size says %d", len(plain), len(text), Size(len(plain)))
		}
		if strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
			t.Errorf("%q needs escaping somewhere", text)
		}
		if again := b.seal(plain); again == text {
			t.Error("the same state twice is the same text: it would show that nothing has changed")
		}
	}
	if text := b.AppendSealed([]byte("before "), []byte("{}")); !strings.HasPrefix(string(text), "before "+version) {
		t.Errorf("appended: %s", text)
	}
}

// The text is what this version has always made: saves of today open tomorrow.
func TestTextOfYesterdayOpens(t *testing.T) {
	opens(t, box(t, key(1)), yesterdays, `{"place":"港","lit":true}`)
}

const yesterdays = "k1.SR3uZthM2GmENDhomqIUeHHqWhR1-ZqNCQJmIo8y4PqXAdxJvPTEoE5VHKSwaZ_wOcdQC4-fNvTiLMDpzUyQdZTzZPxEpg"

func TestRotation(t *testing.T) {
	before, both, after := box(t, key(1)), box(t, key(2), key(1)), box(t, key(2))
	old, fresh := before.seal("old"), both.seal("fresh")
	opens(t, both, old, "old")
	opens(t, both, fresh, "fresh")
	opens(t, after, fresh, "fresh")
	stays(t, before, "the new key's text", fresh)
	stays(t, after, "the old key's text, once that is gone", old)
}

func TestForgeries(t *testing.T) {
	b := box(t, key(1))
	text := b.seal(`{"gold":10}`)
	other := b.seal(`{"gold":10}`)
	raw := strings.TrimPrefix(text, version)
	stays(t, b, "another key", box(t, key(2)).seal("{}"))
	for name, forged := range map[string]string{
		"nothing":                  "",
		"a plain state":            `{"gold":10}`,
		"the version alone":        version,
		"no version":               raw,
		"another version":          "k2." + raw,
		"capitals":                 "K1." + raw,
		"two versions":             version + text,
		"zeros":                    version + strings.Repeat("A", 80),
		"one too short":            version + strings.Repeat("A", 58),
		"a line break inside":      text[:20] + "\n" + text[20:],
		"a carriage return behind": text + "\r",
		"padding":                  text + "=",
		"two texts":                text + raw,
		"halves of two texts":      text[:len(text)/2] + other[len(other)/2:],
		"the other base64":         strings.NewReplacer("-", "+", "_", "/").Replace(version + "-_" + raw[2:]),
		"Unicode":                  version + "霧",
	} {
		stays(t, b, name, forged)
	}
	for i := range len(text) {
		stays(t, b, fmt.Sprintf("cut at %d", i), text[:i])
		for bit := range 8 {
			changed := []byte(text)
			changed[i] ^= 1 << bit
			stays(t, b, fmt.Sprintf("bit %d of byte %d", bit, i), string(changed))
		}
	}
}

// What the same operator's key has sealed elsewhere, or for another purpose, opens
// nothing here.
func TestPurpose(t *testing.T) {
	for _, other := range []string{"", "kiribashiri", "kiribashiri state k2.", "another product"} {
		salt := make([]byte, saltBytes)
		derived, err := hkdf.Key(sha256.New, bytes.Repeat([]byte{1}, keyBytes), salt, other, keyBytes)
		if err != nil {
			t.Fatal(err)
		}
		block, err := aes.NewCipher(derived)
		if err != nil {
			t.Fatal(err)
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			t.Fatal(err)
		}
		text := version + base64.RawURLEncoding.EncodeToString(aead.Seal(salt, nil, []byte("{}"), nil))
		stays(t, box(t, key(1)), fmt.Sprintf("the purpose %q", other), text)
	}
}

func TestKeyFiles(t *testing.T) {
	var many []string
	for n := range maxKeys + 1 {
		many = append(many, key(byte(n)))
	}
	for _, row := range []struct {
		name, file, says string // nothing if it is in order
	}{
		{"one", key(1), ""},
		{"one with a line break", key(1) + "\n", ""},
		{"two, as Windows writes them", key(1) + "\r\n" + key(2) + "\r\n", ""},
		{"empty lines", "\n" + key(1) + "\n\n" + key(2) + "\n", ""},
		{"eight", strings.Join(many[:maxKeys], "\n"), ""},
		{"nine", strings.Join(many, "\n"), "line 9 is one key too many"},
		{"nothing", "", "no key"},
		{"a line break", "\n", "no key"},
		{"a word", key(1) + "\nsecret\n", "line 2 is not base64"},
		{"bits behind the last byte", key(1)[:42] + "B=", "line 1 is not base64"},
		{"no padding", strings.TrimRight(key(1), "="), "line 1 is not base64"},
		{"hexadecimal", strings.Repeat("0123", 16), "line 1 has 48 bytes, want 32"},
		{"16 bytes", base64.StdEncoding.EncodeToString(make([]byte, 16)), "line 1 has 16 bytes, want 32"},
		{"the same twice", key(1) + "\n\n" + key(1), "line 3 has a key that stands further up"},
	} {
		_, err := New([]byte(row.file))
		switch {
		case row.says == "" && err != nil:
			t.Errorf("%s: %v", row.name, err)
		case row.says != "" && (err == nil || !strings.Contains(err.Error(), row.says)):
			t.Errorf("%s: %v, want it to say %q", row.name, err, row.says)
		case err != nil && row.file != "" && strings.Contains(err.Error(), strings.TrimSpace(row.file)) && row.file != "\n":
			t.Errorf("%s: %v shows the key", row.name, err)
		}
	}
}

// Nobody who has no key makes a text that opens, whatever he has seen, and whoever
// has one gets back what was sealed.
func FuzzOpen(f *testing.F) {
	b := box(f, key(1), key(2))
	// Of all texts the one that every run of this knows.
	for _, seed := range []string{"", version, "null", yesterdays[:40], yesterdays + "A", yesterdays} {
		f.Add(seed, 5, byte(1))
	}
	f.Fuzz(func(t *testing.T, text string, at int, change byte) {
		if plain, err := b.Open([]byte(text)); err == nil && text != yesterdays {
			t.Fatalf("%q opened to %q", text, plain)
		}
		mine := []byte(b.seal(text))
		opens(t, b, string(mine), text)
		if change != 0 {
			mine[uint(at)%uint(len(mine))] ^= change
			stays(t, b, fmt.Sprintf("byte %d changed by %d", at, change), string(mine))
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	box, plain := box(b, key(1)), bytes.Repeat([]byte("x"), 4<<10)
	dst := make([]byte, 0, Size(len(plain)))
	b.ReportAllocs()
	b.SetBytes(int64(len(plain)))
	for b.Loop() {
		box.AppendSealed(dst, plain)
	}
}

func BenchmarkOpen(b *testing.B) {
	for keys := range 3 {
		lines := []string{key(1)}
		for n := range keys {
			lines = append([]string{key(byte(n + 2))}, lines...)
		}
		b.Run(fmt.Sprintf("by key %d", keys+1), func(b *testing.B) {
			text := box(b, key(1)).AppendSealed(nil, bytes.Repeat([]byte("x"), 4<<10))
			box := box(b, lines...)
			b.ReportAllocs()
			b.SetBytes(4 << 10)
			for b.Loop() {
				if _, err := box.Open(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
